# SPDX-License-Identifier: Apache-2.0
"""Small networks with the structure of well-known ones, where no package has the original."""
import torch
from torch import nn


class LstmClassifier(nn.Module):
    """Embedding, a two-layer bidirectional LSTM, the mean over time, a linear layer."""

    def __init__(self, vocabulary=10000, embedding=128, hidden=256, layers=2, classes=5):
        super().__init__()
        self.emb = nn.Embedding(vocabulary, embedding)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=layers, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * hidden, classes)

    def forward(self, ids):
        states, _ = self.lstm(self.emb(ids))
        return self.fc(states.mean(1))


def conv_pair(inputs, outputs):
    layers = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class Unet(nn.Module):
    """O. Ronneberger et al., "U-Net", MICCAI 2015, with padded convolutions and few channels."""

    def __init__(self, width=16, inputs=3, outputs=4):
        super().__init__()
        down = [inputs, width, 2 * width, 4 * width, 8 * width]
        self.d = nn.ModuleList(conv_pair(a, b) for a, b in zip(down, down[1:]))
        self.mid = conv_pair(8 * width, 16 * width)
        up = [16 * width, 8 * width, 4 * width, 2 * width, width]
        self.up = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in zip(up, up[1:]))
        self.u = nn.ModuleList(conv_pair(a, b) for a, b in zip(up, up[1:]))
        self.out = nn.Conv2d(width, outputs, 1)

    def forward(self, x):
        skipped = []
        for block in self.d:
            x = block(x)
            skipped.append(x)
            x = torch.max_pool2d(x, 2)
        x = self.mid(x)
        for up, block, skip in zip(self.up, self.u, reversed(skipped)):
            x = block(torch.cat([up(x), skip], 1))
        return self.out(x)


class ConvNormSilu(nn.Sequential):
    def __init__(self, inputs, outputs, kernel=1, stride=1, padding=None):
        padding = kernel // 2 if padding is None else padding
        super().__init__(nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False), nn.BatchNorm2d(outputs), nn.SiLU())


class Bottleneck(nn.Module):
    def __init__(self, channels, add):
        super().__init__()
        self.a, self.b, self.add = ConvNormSilu(channels, channels, 1), ConvNormSilu(channels, channels, 3), add

    def forward(self, x):
        y = self.b(self.a(x))
        return x + y if self.add else y


class CrossStage(nn.Module):
    """Half of the channels through bottlenecks, the other half past them."""

    def __init__(self, inputs, outputs, count=1, add=True):
        super().__init__()
        half = outputs // 2
        self.c1, self.c2, self.c3 = ConvNormSilu(inputs, half), ConvNormSilu(inputs, half), ConvNormSilu(2 * half, outputs)
        self.m = nn.Sequential(*[Bottleneck(half, add) for _ in range(count)])

    def forward(self, x):
        return self.c3(torch.cat([self.m(self.c1(x)), self.c2(x)], 1))


class PyramidPool(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.c1, self.c2, self.p = ConvNormSilu(inputs, inputs // 2), ConvNormSilu(2 * inputs, outputs), nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        x = self.c1(x)
        a = self.p(x)
        b = self.p(a)
        return self.c2(torch.cat([x, a, b, self.p(b)], 1))


class Yolo(nn.Module):
    """A one-stage detector in the manner of YOLOv5: cross-stage backbone, path aggregation, decoding in the graph."""

    STRIDES = (8, 16, 32)
    ANCHORS = ((10, 13, 16, 30, 33, 23), (30, 61, 62, 45, 59, 119), (116, 90, 156, 198, 373, 326))

    def __init__(self, w=32, classes=80, side=640):
        super().__init__()
        self.classes, self.side = classes, side
        self.stem = ConvNormSilu(3, w, 6, 2, padding=2)
        self.b1 = nn.Sequential(ConvNormSilu(w, 2 * w, 3, 2), CrossStage(2 * w, 2 * w, 1))
        self.b2 = nn.Sequential(ConvNormSilu(2 * w, 4 * w, 3, 2), CrossStage(4 * w, 4 * w, 2))
        self.b3 = nn.Sequential(ConvNormSilu(4 * w, 8 * w, 3, 2), CrossStage(8 * w, 8 * w, 3))
        self.b4 = nn.Sequential(ConvNormSilu(8 * w, 16 * w, 3, 2), CrossStage(16 * w, 16 * w, 1), PyramidPool(16 * w, 16 * w))
        self.l1, self.h1 = ConvNormSilu(16 * w, 8 * w), CrossStage(16 * w, 8 * w, 1, False)
        self.l2, self.h2 = ConvNormSilu(8 * w, 4 * w), CrossStage(8 * w, 4 * w, 1, False)
        self.d1, self.h3 = ConvNormSilu(4 * w, 4 * w, 3, 2), CrossStage(8 * w, 8 * w, 1, False)
        self.d2, self.h4 = ConvNormSilu(8 * w, 8 * w, 3, 2), CrossStage(16 * w, 16 * w, 1, False)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.det = nn.ModuleList(nn.Conv2d(c, 3 * (classes + 5), 1) for c in (4 * w, 8 * w, 16 * w))
        for i, (stride, anchors) in enumerate(zip(self.STRIDES, self.ANCHORS)):
            n = side // stride
            y, x = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
            self.register_buffer(f"g{i}", torch.stack([x, y], -1).float().view(1, 1, n, n, 2) - 0.5)
            self.register_buffer(f"a{i}", torch.tensor(anchors).float().view(1, 3, 1, 1, 2))

    def features(self, x):
        p3 = self.b2(self.b1(self.stem(x)))
        p4 = self.b3(p3)
        t1 = self.l1(self.b4(p4))
        t2 = self.l2(self.h1(torch.cat([self.up(t1), p4], 1)))
        o3 = self.h2(torch.cat([self.up(t2), p3], 1))
        o4 = self.h3(torch.cat([self.d1(o3), t2], 1))
        return o3, o4, self.h4(torch.cat([self.d2(o4), t1], 1))

    def forward(self, x):
        decoded = []
        for i, (feature, head) in enumerate(zip(self.features(x), self.det)):
            n = self.side // self.STRIDES[i]
            z = head(feature).view(-1, 3, self.classes + 5, n, n).permute(0, 1, 3, 4, 2).sigmoid()
            xy, wh, rest = z.split((2, 2, self.classes + 1), -1)
            xy = (xy * 2 + getattr(self, f"g{i}")) * self.STRIDES[i]
            wh = (wh * 2) ** 2 * getattr(self, f"a{i}")
            decoded.append(torch.cat([xy, wh, rest], -1).view(-1, 3 * n * n, self.classes + 5))
        return torch.cat(decoded, 1)
