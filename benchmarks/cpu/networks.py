#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports the benchmark networks to ONNX: seeded random weights, batch-norm statistics set from data.

    networks.py FOLDER [NAME ...]      needs torch, torchvision, transformers, onnx, onnxscript

Writes FOLDER/NAME.onnx and FOLDER/NAME.ref.npz (inputs in0, in1, ... and PyTorch's outputs out0, out1, ... for a batch of 2). The batch
axis is dynamic, except in ssd300_vgg16_nms, which is static at batch 1. yolov5s_like, unet_small and lstm_cls are small stand-ins
from stand_ins.py; the others are torchvision's and transformers' own.
"""
import os
import sys

import numpy as np
import torch
from torch import nn

import stand_ins

STATIC = {"ssd300_vgg16_nms"}
LEGACY_EXPORTER = {"ssd300_vgg16_nms", "lstm_cls"}   # the newer exporter does not take them


class Adapted(nn.Module):
    """A module with its call spelled differently."""

    def __init__(self, module, call):
        super().__init__()
        self.module, self.call = module, call

    def forward(self, *arguments):
        return self.call(self.module, *arguments)


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def pictures(count=2, side=224):
    return torch.randn(count, 3, side, side, generator=seeded(3))


def tokens(count, length, vocabulary):
    return torch.randint(0, vocabulary, (count, length), generator=seeded(5))


def token_mask(count, length):
    """Ones, with some zeros at the end of each row."""
    mask = torch.ones(count, length, dtype=torch.int64)
    for i in range(count):
        mask[i, length - (7 * i + 5) % (length // 2):] = 0
    return mask


def calibrate_batch_norms(module, x):
    """Sets running statistics from data so that activations keep a sane scale, after spreading the affine parameters."""
    norms = [m for m in module.modules() if isinstance(m, nn.BatchNorm2d)]
    generator = seeded(7)
    for norm in norms:
        with torch.no_grad():
            norm.weight.copy_(0.7 + 0.6 * torch.rand(norm.weight.shape, generator=generator))
            norm.bias.copy_(0.2 * torch.randn(norm.bias.shape, generator=generator))
        norm.momentum = 1.0   # the statistics are those of the last batch
    module.eval()
    for norm in norms:
        norm.train()
    with torch.no_grad():
        module(x)
    return module.eval()


def vision(name, side=224):
    import torchvision

    module = torchvision.models.get_model(name, weights=None).eval()
    if name.startswith("vit"):
        nn.init.normal_(module.heads.head.weight, std=0.02)   # zero as torchvision makes it: a constant output
    return calibrate_batch_norms(module, pictures(8, side)), (pictures(2, side),), ["input"], ["output"]


def ssd_heads():
    import torchvision

    module = torchvision.models.detection.ssd300_vgg16(weights=None, weights_backbone=None).eval()

    def call(m, x):
        heads = m.head(list(m.backbone(x).values()))
        return heads["bbox_regression"], heads["cls_logits"]

    return Adapted(module, call), (pictures(2, 300),), ["input"], ["boxes", "logits"]


def ssd_with_nms():
    import torchvision

    module = torchvision.models.detection.ssd300_vgg16(weights=None, weights_backbone=None, score_thresh=0.02).eval()

    def call(m, x):
        found = m([x[0]])[0]
        return found["boxes"], found["scores"], found["labels"]

    return Adapted(module, call), (torch.rand(1, 3, 300, 300, generator=seeded(3)),), ["input"], ["boxes", "scores", "labels"]


def bert(layers=12, hidden=768, heads=12, inner=3072, length=128, masked=True):
    from transformers import BertConfig, BertModel

    config = BertConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, intermediate_size=inner)
    config._attn_implementation = "sdpa"
    module = BertModel(config, add_pooling_layer=True).eval()

    def call(m, ids, mask=None):
        found = m(input_ids=ids, attention_mask=mask)
        return found.last_hidden_state, found.pooler_output

    inputs = (tokens(2, length, 30522),) + ((token_mask(2, length),) if masked else ())
    return Adapted(module, call), inputs, ["input_ids", "attention_mask"][:len(inputs)], ["last_hidden_state", "pooler_output"]


def distilbert():
    from transformers import DistilBertConfig, DistilBertModel

    module = DistilBertModel(DistilBertConfig()).eval()
    return (Adapted(module, lambda m, ids, mask: m(input_ids=ids, attention_mask=mask).last_hidden_state),
            (tokens(2, 128, 30522), token_mask(2, 128)), ["input_ids", "attention_mask"], ["last_hidden_state"])


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    module = GPT2LMHeadModel(GPT2Config()).eval()
    return Adapted(module, lambda m, ids: m(input_ids=ids, use_cache=False).logits), (tokens(2, 64, 50257),), ["input_ids"], ["logits"]


def whisper_encoder():
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8,
                           encoder_ffn_dim=2048, decoder_ffn_dim=2048, num_mel_bins=80)
    module = WhisperModel(config).eval().get_encoder()
    return (Adapted(module, lambda m, x: m(x).last_hidden_state), (torch.randn(1, 80, 3000, generator=seeded(3)),), ["mel"], ["hidden"])


def lstm_classifier():
    return stand_ins.LstmClassifier().eval(), (tokens(2, 128, 10000),), ["ids"], ["logits"]


def unet():
    return calibrate_batch_norms(stand_ins.Unet(), pictures(4, 256)), (pictures(2, 256),), ["input"], ["output"]


def yolo():
    return calibrate_batch_norms(stand_ins.Yolo(), pictures(2, 640)), (pictures(2, 640),), ["images"], ["pred"]


NETWORKS = {
    "resnet50": lambda: vision("resnet50"),
    "mobilenet_v3_large": lambda: vision("mobilenet_v3_large"),
    "efficientnet_b0": lambda: vision("efficientnet_b0"),
    "vit_b_16": lambda: vision("vit_b_16"),
    "convnext_tiny": lambda: vision("convnext_tiny"),
    "swin_t": lambda: vision("swin_t"),
    "ssd300_vgg16_heads": ssd_heads,
    "ssd300_vgg16_nms": ssd_with_nms,
    "yolov5s_like": yolo,
    "unet_small": unet,
    "bert_base": bert,
    "bert_base_nomask": lambda: bert(masked=False),
    "bert_large": lambda: bert(24, 1024, 16, 4096, 384),
    "distilbert": distilbert,
    "minilm_l6": lambda: bert(6, 384, 12, 1536),
    "gpt2_small": gpt2,
    "whisper_base_enc": whisper_encoder,
    "lstm_cls": lstm_classifier,
}


def export(name, module, arguments, inputs, outputs, path):
    if name in LEGACY_EXPORTER:
        axes = None if name in STATIC else {key: {0: "batch"} for key in inputs + outputs}
        torch.onnx.export(module, arguments, path, input_names=inputs, output_names=outputs, dynamo=False, opset_version=17,
                          dynamic_axes=axes, do_constant_folding=True)
        return
    shapes = tuple({0: torch.export.Dim.DYNAMIC} for _ in arguments)
    if isinstance(module, Adapted):
        shapes = (shapes,)   # forward takes *arguments
    torch.onnx.export(module, arguments, path, input_names=inputs, output_names=outputs, dynamo=True, opset_version=18,
                      external_data=False, dynamic_shapes=shapes, verbose=False)


def make(name, folder):
    torch.manual_seed(0)
    module, arguments, inputs, outputs = NETWORKS[name]()
    with torch.no_grad():
        results = module(*arguments)
    results = results if isinstance(results, (tuple, list)) else [results]
    np.savez(os.path.join(folder, name + ".ref.npz"), **{f"in{i}": a.numpy() for i, a in enumerate(arguments)},
             **{f"out{i}": r.numpy() for i, r in enumerate(results)})
    export(name, module, arguments, inputs, outputs, os.path.join(folder, name + ".onnx"))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, names = sys.argv[1], sys.argv[2:] or list(NETWORKS)
    os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    for name in names:
        if name not in NETWORKS:
            sys.exit(f"networks.py: expected one of {', '.join(NETWORKS)}, found '{name}'")
        make(name, folder)
        print(name, flush=True)


if __name__ == "__main__":
    main()
