// The report's behaviour: reads the engine's explanation and draws it. No network, no library.
const data = JSON.parse(document.getElementById("data").textContent);
const steps = data.steps.map((s, i) => ({...s, i, inputs: s.inputs || [], outputs: s.outputs || [], candidates: s.candidates || []}));
const $ = id => document.getElementById(id);
const el = (tag, attributes = {}, text = "") => {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) k === "class" ? e.className = v : e.setAttribute(k, v);
  e.textContent = text;
  return e;
};
const svg = (tag, attributes = {}, text = "") => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text) e.textContent = text;
  return e;
};
const significant = x => x === 0 ? "0" : Math.abs(x) >= 100 ? x.toFixed(0) : x.toPrecision(3);
const scaled = (x, units) => { let u = 0; while (x >= 1000 && u + 1 < units.length) { x /= 1000; ++u; } return significant(x) + " " + units[u]; };
const bytes = x => scaled(x, ["B", "kB", "MB", "GB", "TB"]);
const time = us => scaled(us, ["µs", "ms", "s"]);
const rate = x => scaled(x, ["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s"]);
const percent = x => (100 * x).toFixed(x < 0.1 ? 1 : 0) + "%";
const dims = d => d && d.length ? d.join("×") : "scalar";
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const total = steps.reduce((t, s) => t + s.time_us, 0);
const peakFlops = Number(data.facts.device_flops_per_second) || 0, peakBytes = Number(data.facts.device_bytes_per_second) || 0;
// The least time that the device's arithmetic and memory allow; nothing where the device's rates are unknown.
const floor = s => peakFlops && peakBytes ? 1e6 * Math.max(s.flops / peakFlops, s.bytes / peakBytes) : 0;
const mainOp = s => s.region.split("+")[0];
const runs = s => s.tactic !== "view";

const kindTimes = new Map();
for (const s of steps) if (runs(s)) kindTimes.set(mainOp(s), (kindTimes.get(mainOp(s)) || 0) + s.time_us);
const kinds = [...kindTimes].sort((a, b) => b[1] - a[1]).map(k => k[0]);
const kindColour = s => "--c" + Math.min(kinds.indexOf(mainOp(s)) < 0 ? 6 : kinds.indexOf(mainOp(s)), 6);

let selected = -1;
const listeners = [];
function select(i, scroll = false) {
  selected = i;
  for (const f of listeners) f(i);
  if (scroll) $("detail").scrollIntoView({behavior: "smooth", block: "nearest"});
}
function tip(event, text) {
  const t = $("tip");
  t.style.display = text ? "block" : "none";
  if (!text) return;
  t.textContent = text;
  t.style.left = Math.min(event.clientX + 12, innerWidth - 430) + "px";
  t.style.top = event.clientY + 14 + "px";
}
function hover(element, text) {
  element.addEventListener("mousemove", e => tip(e, text));
  element.addEventListener("mouseleave", () => tip(null, ""));
}

function header() {
  $("title").textContent = data.model;
  document.title = data.model + " · Wootz";
  $("device").textContent = `${data.device} · ${data.fingerprint} · Wootz ${data.wootz}`;
  const fact = (label, value, title = "") => {
    const f = el("div", {class: "fact", title});
    f.append(el("b", {}, value), el("span", {class: "dim"}, label));
    $("facts").append(f);
  };
  const shapes = Object.entries(data.tuned_shapes).map(([n, d]) => `${n} ${dims(d)}`).join(", ");
  fact("as raced, sum of regions", total ? time(total) : "not timed", "tuned at " + shapes);
  fact("regions that run", String(steps.filter(runs).length), `${steps.length} steps, views included`);
  fact("activations", bytes(data.memory.activations_bytes), "least possible: " + bytes(data.memory.live_bound_bytes));
  const least = steps.reduce((t, s) => t + floor(s), 0);
  if (total && least) fact("of the device's limit", percent(least / total), "sum of every region's least time over the measured time");
  const worst = Math.max(-1, ...data.verification.map(v => v.relative ?? Infinity));
  fact("largest error, relative", worst < 0 ? "not verified" : worst.toExponential(1));
  fact("build", (Number(data.facts.build_seconds) || 0).toFixed(1) + " s", "of it verification: " + Number(data.facts.verify_seconds || 0).toFixed(1) + " s");
}

function answer() {
  const top = kinds.slice(0, 3).map(k => `${k} ${percent(kindTimes.get(k) / total)}`).join(", ");
  const slow = steps.filter(runs).sort((a, b) => b.time_us - a.time_us)[0];
  $("answer").textContent = total && slow ?
    `${top}. The slowest region is ${slow.region} (${slow.nodes[0] || "no ONNX node"}): ${time(slow.time_us)}, ${percent(slow.time_us / total)} of all.` :
    "This engine was built without measuring (--no-tune): times are not known.";
  const gap = steps.length < 300 ? "; border-right:1px solid var(--panel)" : "";
  const parts = [];  // of many steps, neighbours of one kind that are too narrow to point at are one part
  for (const s of steps) {
    if (!s.time_us) continue;
    const last = parts.at(-1), narrow = us => us < total / 1200;
    if (last && narrow(last.us) && narrow(s.time_us) && kindColour(last.steps[0]) === kindColour(s)) last.us += s.time_us, last.steps.push(s);
    else parts.push({us: s.time_us, steps: [s]});
  }
  for (const p of parts) {
    const s = p.steps[0], more = p.steps.length > 1 ? ` and ${p.steps.length - 1} more` : "";
    const part = el("div", {style: `flex:${p.us} 0 0; background:var(${kindColour(s)})${gap}`});
    hover(part, `${s.region}${more} · ${time(p.us)} · ${s.tactic} · ${s.nodes[0] || ""}`);
    part.addEventListener("click", () => select(s.i, true));
    $("strip").append(part);
  }
  const moved = steps.filter(s => s.movement && s.time_us > 0), moving = moved.reduce((t, s) => t + s.time_us, 0);
  const missed = data.remarks.filter(r => /^not (fused|recognised)/.test(r.text) && (r.gain_us > 0 || r.edit)), gain = missed.reduce((t, r) => t + (r.gain_us || 0), 0);
  $("answer").append(total ? ` Copies and reformats: ${moved.length ? `${moved.length}, ${time(moving)}, ${percent(moving / total)}` : "none"}.` : "",
    ` Not fused where a rule came close: ${missed.length ? `${missed.length}, about ${time(gain)} (see Remarks)` : "nothing that would save time"}.`);
  kinds.slice(0, 6).forEach((k, i) => legend($("kinds"), `--c${i}`, `${k} ${total ? percent(kindTimes.get(k) / total) : ""}`));
  if (kinds.length > 6) legend($("kinds"), "--c6", "others");
}
function legend(where, colourName, text) {
  const item = el("span");
  item.append(el("i", {class: "swatch", style: `background:var(${colourName})`}), text);
  where.append(item);
}

const columns = [
  {name: "#", n: true, of: s => s.i, show: s => s.i},
  {name: "time", n: true, of: s => s.time_us, show: s => s.time_us ? time(s.time_us) : "–"},
  {name: "share", n: false, of: s => s.time_us, bar: s => total ? s.time_us / total : 0},
  {name: "region", of: s => s.region, show: s => s.region},
  {name: "output", of: s => s.outputs[0] ? s.outputs[0].dims.reduce((a, b) => a * b, 1) : 0, show: s => s.outputs[0] ? `${dims(s.outputs[0].dims)} ${s.outputs[0].dtype}` : ""},
  {name: "tactic", of: s => s.tactic, show: s => s.tactic + (s.config ? " " + s.config : "")},
  {name: "of limit", n: true, of: s => s.time_us ? floor(s) / s.time_us : 0, show: s => s.time_us && floor(s) ? percent(floor(s) / s.time_us) : "–"},
  {name: "error", n: true, of: s => s.error, show: s => s.error >= 0 ? s.error.toExponential(1) : "–"},
  {name: "ONNX nodes", of: s => s.nodes[0] || "", show: s => (s.nodes[0] || "") + (s.nodes.length > 1 ? ` +${s.nodes.length - 1}` : "")},
];
const kMostRows = 400;
let order = {column: 0, down: false};
function table() {
  const maxShare = total ? Math.max(...steps.map(s => s.time_us)) / total : 1;
  columns.forEach((c, k) => {
    const h = el("th", {class: c.n ? "n" : ""}, c.name);
    h.addEventListener("click", () => { order = {column: k, down: order.column === k ? !order.down : k === 1 || k === 2}; fill(); });
    $("heads").append(h);
  });
  const option = (select, texts, all) => { select.append(el("option", {value: ""}, all)); for (const t of texts) select.append(el("option", {value: t}, t)); };
  option($("kind"), kinds, "all kinds");
  option($("dtype"), [...new Set(steps.flatMap(s => s.outputs.map(o => o.dtype)))].sort(), "all types");
  const haystack = steps.map(s => [s.region, s.tactic, ...s.nodes, ...s.inputs.map(v => v.name), ...s.outputs.map(v => v.name)].join("\n").toLowerCase());
  function fill() {
    const word = $("find").value.toLowerCase(), kind = $("kind").value, dtype = $("dtype").value;
    const c = columns[order.column];
    const shown = steps.filter(s => (!word || haystack[s.i].includes(word)) && (!kind || mainOp(s) === kind) &&
        (!dtype || s.outputs.some(o => o.dtype === dtype)) && (!$("runs").checked || runs(s)));
    shown.sort((a, b) => (c.of(a) < c.of(b) ? -1 : c.of(a) > c.of(b) ? 1 : a.i - b.i) * (order.down ? -1 : 1));
    const part = shown.slice(0, kMostRows);
    $("count").textContent = `${shown.length} of ${steps.length}` + (part.length < shown.length ? `, the first ${kMostRows} shown` : "");
    $("rows").replaceChildren(...part.map(s => {
      const row = el("tr", {class: s.i === selected ? "on" : "", "data-step": s.i});
      for (const col of columns) {
        const cell = el("td", {class: col.n ? "n" : ""}, col.bar ? "" : col.show(s));
        if (col.bar) cell.append(el("i", {class: "bar", style: `width:${(90 * col.bar(s) / maxShare).toFixed(1)}px; background:var(${kindColour(s)})`}));
        row.append(cell);
      }
      row.addEventListener("click", () => select(s.i, true));
      return row;
    }));
  }
  for (const id of ["find", "kind", "dtype", "runs"]) $(id).addEventListener("input", fill);
  listeners.push(i => { for (const r of $("rows").children) r.className = Number(r.dataset.step) === i ? "on" : ""; });
  fill();
}

function detail(i) {
  const s = steps[i], box = el("div", {class: "panel", style: "margin-top:10px"});
  box.append(el("h3", {}, `Region ${i}: ${s.region}`));
  const line = (label, text) => { const p = el("div"); p.append(el("span", {class: "dim"}, label + " "), text); box.append(p); };
  line("ONNX nodes:", s.nodes.join(", ") || "none: made by the compiler");
  line("runs as:", s.tactic + (s.config ? ` (${s.config})` : "") + (s.sharing ? `, ${s.sharing}` : ""));
  if (s.time_us) line("time:", `${time(s.time_us)} measured, ${time(s.predicted_us)} predicted` + (floor(s) ? `, ${time(floor(s))} at the device's limit (${s.flops / peakFlops > s.bytes / peakBytes ? "arithmetic" : "memory"})` : ""));
  line("work:", `${scaled(s.flops, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"])}, ${bytes(s.bytes)} moved` + (s.time_us ? `; reached ${rate(s.flops / s.time_us * 1e6)} and ${bytes(s.bytes / s.time_us * 1e6)}/s` : ""));
  if (s.error >= 0) line("error against the reference:", `${s.error.toExponential(2)} of the largest value; allowed ${s.bound.toExponential(1)}`);
  const value = v => `${v.name} ${dims(v.dims)} ${v.dtype}${v.channels_last ? ", channels last" : ""}${v.constant ? ", constant" : ""}`;
  line("reads:", s.inputs.map(value).join("; ") || "nothing");
  line("writes:", s.outputs.map(value).join("; ") || "nothing");
  const ran = s.candidates.filter(c => c.time_us > 0).sort((a, b) => a.time_us - b.time_us);
  if (ran.length) {
    box.append(el("h3", {}, "Rivals in the race"));
    const t = el("table"), best = ran[0].time_us;
    for (const c of ran) {
      const row = el("tr", {style: "cursor:default"});
      row.append(el("td", {class: "n"}, time(c.time_us)), el("td", {class: "n"}, (c.time_us / best).toFixed(2) + "×"), el("td", {}, `${c.tactic} ${c.config}`), el("td", {class: "warn"}, c.refusal));
      t.append(row);
    }
    box.append(t);
  }
  const refused = Object.entries(s.refused || {});
  if (refused.length) {
    const more = el("details"), list = el("ul");
    more.append(el("summary", {class: "dim"}, `${refused.reduce((n, r) => n + r[1].length, 0)} tactics do not serve it`), list);
    for (const [why, tactics] of refused) list.append(el("li", {}, `${why}: ${tactics.join(", ")}`));
    box.append(more);
  }
  $("detail").replaceChildren(box);
}

function roofline() {
  const root = $("roofline"), width = root.clientWidth || 1100, height = 340, left = 70, bottom = 36, right = 16, top = 12;
  const points = steps.filter(s => s.time_us > 0 && s.flops > 0 && s.bytes > 0).map(s => ({s, x: s.flops / s.bytes, y: s.flops / s.time_us * 1e6}));
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  if (!points.length) { root.append(svg("text", {x: 20, y: 30}, "Nothing was timed.")); return; }
  const xs = points.map(p => Math.log10(p.x)), ys = points.map(p => Math.log10(p.y));
  const x0 = Math.floor(Math.min(...xs)), x1 = Math.ceil(Math.max(...xs, Math.log10((peakFlops || 1) / (peakBytes || 1)) + 0.5));
  const y1 = Math.ceil(Math.max(...ys, peakFlops ? Math.log10(peakFlops) : 0)), y0 = Math.max(Math.floor(Math.min(...ys)), y1 - 6);
  const X = v => left + (v - x0) / (x1 - x0) * (width - left - right), Y = v => top + (y1 - Math.max(v, y0)) / (y1 - y0) * (height - top - bottom);
  for (let v = x0; v <= x1; ++v) root.append(svg("line", {x1: X(v), x2: X(v), y1: top, y2: height - bottom, class: "axis"}), svg("text", {x: X(v), y: height - bottom + 15, "text-anchor": "middle"}, String(10 ** v)));
  for (let v = y0; v <= y1; ++v) root.append(svg("line", {x1: left, x2: width - right, y1: Y(v), y2: Y(v), class: "axis"}), svg("text", {x: left - 6, y: Y(v) + 4, "text-anchor": "end"}, rate(10 ** v).replace("FLOP/s", "")));
  root.append(svg("text", {x: width - right, y: height - 4, "text-anchor": "end"}, "FLOP for each byte"), svg("text", {x: left + 6, y: top + 12}, "FLOP/s"));
  if (peakFlops && peakBytes) {
    const ridge = Math.log10(peakFlops / peakBytes), path = [[x0, x0 + Math.log10(peakBytes)], [ridge, Math.log10(peakFlops)], [x1, Math.log10(peakFlops)]];
    root.append(svg("polyline", {points: path.map(([a, b]) => `${X(a)},${Y(b)}`).join(" "), fill: "none", stroke: "var(--text)", "stroke-width": 1.5}));
  }
  for (const p of points) {
    const c = svg("circle", {cx: X(Math.log10(p.x)), cy: Y(Math.log10(p.y)), r: 3 + 12 * Math.sqrt(p.s.time_us / total), fill: `var(${kindColour(p.s)})`, "fill-opacity": 0.6, style: "cursor:pointer"});
    hover(c, `${p.s.region} · ${time(p.s.time_us)} · ${rate(p.y)} · ${p.s.tactic}`);
    c.addEventListener("click", () => select(p.s.i, true));
    root.append(c);
  }
}

// Rows by longest path from the inputs, columns by the mean column of what a node reads: one pass, linear time.
function layout() {
  const producer = new Map(), depth = [], column = [], used = [];
  steps.forEach(s => s.outputs.forEach(v => producer.set(v.name, s.i)));
  const edges = [];
  for (const s of steps) {
    const from = s.inputs.map(v => producer.get(v.name)).filter(p => p !== undefined && p < s.i);
    for (const p of from) edges.push([p, s.i]);
    depth[s.i] = from.length ? 1 + Math.max(...from.map(p => depth[p])) : 0;
    const wish = from.length ? Math.round(from.reduce((t, p) => t + column[p], 0) / from.length) : 0;
    const row = used[depth[s.i]] ||= new Set();
    let c = wish, step = 1;
    while (row.has(c)) { c = wish + (step & 1 ? (step + 1) / 2 : -step / 2); ++step; }
    row.add(c);
    column[s.i] = c;
  }
  return {edges, depth, column};
}
function graph() {
  const canvas = $("graph"), pen = canvas.getContext("2d"), {edges, depth, column} = layout();
  const w = 170, h = 34, gx = 24, gy = 26, height = 480;
  const X = i => column[i] * (w + gx), Y = i => depth[i] * (h + gy);
  let scale = 1, ox = 0, oy = 20, width = 0;
  const hottest = Math.max(1e-9, ...steps.map(s => s.time_us));
  function draw() {
    const ratio = devicePixelRatio || 1;
    width = canvas.clientWidth;
    canvas.width = width * ratio; canvas.height = height * ratio; canvas.style.height = height + "px";
    pen.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * ox, ratio * oy);
    pen.clearRect(-ox / scale, -oy / scale, width / scale, height / scale);
    const seen = i => { const x = X(i) * scale + ox, y = Y(i) * scale + oy; return x > -w * scale && x < width && y > -h * scale && y < height; };
    pen.strokeStyle = colour("--dim"); pen.lineWidth = 1 / Math.max(scale, 0.4); pen.globalAlpha = 0.6;
    pen.beginPath();
    for (const [a, b] of edges) {
      if (!seen(a) && !seen(b)) continue;
      pen.moveTo(X(a) + w / 2, Y(a) + h);
      const ya = Y(a) + h, yb = Y(b);
      pen.bezierCurveTo(X(a) + w / 2, ya + 20, X(b) + w / 2, yb - 20, X(b) + w / 2, yb);
    }
    pen.stroke();
    const text = colour("--text"), panel = colour("--panel"), accent = colour("--accent");
    for (const s of steps) {
      if (!seen(s.i)) continue;
      pen.globalAlpha = 1; pen.fillStyle = panel; pen.fillRect(X(s.i), Y(s.i), w, h);
      pen.globalAlpha = runs(s) ? 0.25 + 0.75 * Math.sqrt(s.time_us / hottest) : 0.12; pen.fillStyle = colour(kindColour(s)); pen.fillRect(X(s.i), Y(s.i), w, h);
      pen.globalAlpha = 1;
      if (s.i === selected) { pen.strokeStyle = accent; pen.lineWidth = 3; pen.strokeRect(X(s.i), Y(s.i), w, h); }
      if (scale < 0.35) continue;
      pen.fillStyle = text; pen.font = "11px system-ui, sans-serif";
      pen.fillText(s.region.length > 27 ? s.region.slice(0, 26) + "…" : s.region, X(s.i) + 6, Y(s.i) + 14);
      pen.fillText(`${s.outputs[0] ? dims(s.outputs[0].dims) : ""}  ${s.time_us ? time(s.time_us) : runs(s) ? "" : "view"}`, X(s.i) + 6, Y(s.i) + 28);
    }
  }
  const at = e => {
    const box = canvas.getBoundingClientRect(), x = (e.clientX - box.left - ox) / scale, y = (e.clientY - box.top - oy) / scale;
    return steps.find(s => x >= X(s.i) && x <= X(s.i) + w && y >= Y(s.i) && y <= Y(s.i) + h);
  };
  let drag = null, moved = false;
  canvas.addEventListener("mousedown", e => { drag = [e.clientX - ox, e.clientY - oy]; moved = false; });
  addEventListener("mouseup", () => { drag = null; });
  canvas.addEventListener("mousemove", e => {
    if (drag) { ox = e.clientX - drag[0]; oy = e.clientY - drag[1]; moved = true; draw(); return; }
    const s = at(e);
    tip(e, s ? `${s.region} · ${s.tactic} · ${s.nodes[0] || ""}` : "");
  });
  canvas.addEventListener("mouseleave", () => tip(null, ""));
  canvas.addEventListener("click", e => { const s = at(e); if (s && !moved) select(s.i, true); });
  canvas.addEventListener("wheel", e => {
    e.preventDefault();
    const box = canvas.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top, factor = Math.exp(-e.deltaY / 500);
    const next = Math.min(3, Math.max(0.02, scale * factor));
    ox = x - (x - ox) * next / scale; oy = y - (y - oy) * next / scale; scale = next;
    draw();
  }, {passive: false});
  listeners.push(i => {
    const x = X(i) * scale + ox, y = Y(i) * scale + oy;
    if (x < 0 || x > width - w * scale || y < 0 || y > height - h * scale) { ox = width / 2 - (X(i) + w / 2) * scale; oy = height / 2 - (Y(i) + h / 2) * scale; }
    draw();
  });
  width = canvas.clientWidth;
  ox = width / 2 - w / 2;
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
}

function memory() {
  const root = $("memory"), width = root.clientWidth || 1100, height = 260, left = 64, bottom = 26, top = 8;
  const values = data.memory.values || [], peak = Math.max(1, data.memory.activations_bytes), n = Math.max(1, steps.length);
  $("memorytext").textContent = `Peak ${bytes(data.memory.activations_bytes)}; what is alive at the fullest step is ${bytes(data.memory.live_bound_bytes)}. ` +
    "Each block is a tensor: from the step that writes it to the last that reads it, at its place in the arena. Weights, inputs and outputs lie elsewhere.";
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const X = i => left + i / n * (width - left - 8), Y = b => height - bottom - b / peak * (height - bottom - top);
  for (let k = 0; k <= 4; ++k) root.append(svg("line", {x1: left, x2: width - 8, y1: Y(peak * k / 4), y2: Y(peak * k / 4), class: "axis"}), svg("text", {x: left - 6, y: Y(peak * k / 4) + 4, "text-anchor": "end"}, bytes(peak * k / 4)));
  for (const v of values) {
    const s = steps[v.first], block = svg("rect", {x: X(v.first), y: Y(v.offset + v.bytes), width: Math.max(1, X(v.last + 1) - X(v.first) - 0.5), height: Math.max(0.5, Y(v.offset) - Y(v.offset + v.bytes) - 0.3), fill: `var(${kindColour(s)})`, "fill-opacity": 0.55});
    hover(block, `${v.name} · ${bytes(v.bytes)} at ${bytes(v.offset)} · steps ${v.first} to ${v.last}`);
    block.addEventListener("click", () => select(v.first, true));
    root.append(block);
  }
  root.append(svg("text", {x: width - 8, y: height - 6, "text-anchor": "end"}, `step ${n - 1}`), svg("text", {x: left, y: height - 6}, "step 0"));
}

function types() {
  const root = $("types"), width = root.clientWidth || 1100, names = [...new Set(steps.flatMap(s => s.outputs.slice(0, 1).map(o => o.dtype)))].sort();
  root.setAttribute("viewBox", `0 0 ${width} 46`);
  const dtype = s => s.outputs[0] ? s.outputs[0].dtype : "";
  for (let i = 0, end = 0; i < steps.length; i = end) {
    for (end = i + 1; end < steps.length && dtype(steps[end]) === dtype(steps[i]);) ++end;
    if (!dtype(steps[i])) continue;
    const r = svg("rect", {x: i / steps.length * width, y: 4, width: Math.max(1, (end - i) / steps.length * width - 0.4), height: 36, fill: `var(--c${names.indexOf(dtype(steps[i])) % 8})`});
    hover(r, (end - i > 1 ? `steps ${i} to ${end - 1}` : `step ${i} ${steps[i].region}`) + `: ${dtype(steps[i])}`);
    r.addEventListener("click", () => select(steps[i].i, true));
    root.append(r);
  }
  names.forEach((t, i) => legend($("typelegend"), `--c${i % 8}`, `${t}: ${steps.filter(s => s.outputs[0] && s.outputs[0].dtype === t).length} steps`));
}

function remarks() {
  const stages = new Map();
  for (const r of [...data.remarks].sort((a, b) => (b.gain_us || 0) - (a.gain_us || 0))) stages.has(r.stage) ? stages.get(r.stage).push(r) : stages.set(r.stage, [r]);
  if (!stages.size) $("remarks").append("Nothing to report.");
  for (const [stage, list] of stages) {
    $("remarks").append(el("h3", {}, `${stage} (${list.length})`));
    const ul = el("ul");
    for (const r of list) {
      const item = el("li");
      if (r.nodes.length) item.append(el("code", {}, r.nodes[0]), ": ");
      item.append(r.text);
      if (r.gain_us >= 0.05) item.append(`; would save about ${time(r.gain_us)}`);
      if (r.edit) item.append(el("div", {class: "dim"}, "to allow it: " + r.edit));
      ul.append(item);
    }
    $("remarks").append(ul);
  }
}

function proof() {
  if (!data.verification.length) { $("proof").append(el("span", {class: "warn"}, "This engine was built with --no-verify: nothing was compared.")); return; }
  const t = el("table"), head = el("tr");
  for (const n of ["output", "inputs", "largest difference", "relative", "allowed"]) head.append(el("th", {}, n));
  t.append(head);
  const number = x => x === null || x === undefined ? "not finite" : x.toExponential(2);
  for (const v of data.verification) {
    const row = el("tr", {style: "cursor:default"});
    for (const x of [v.output, v.sample, number(v.max_abs), number(v.relative), v.bound === null ? "none" : number(v.bound)]) row.append(el("td", {}, x));
    t.append(row);
  }
  $("proof").append(t);
}

// Before and after, as `wootz explain --of MODEL` measures them.
function precision() {
  if (!data.precision) return;
  $("precision").hidden = false;
  const error = x => x === null || x === undefined ? "–" : x === 0 ? "0" : x.toExponential(1), plain = digits => x => x === null || x === undefined ? "–" : x.toFixed(digits);
  const outputs = [["largest error", "max_abs", error], ["relative", "relative", error], ["SQNR, dB", "sqnr_db", plain(1)], ["cosine", "cosine", plain(6)], ["top-1 the same", "top1", x => x === null ? "–" : percent(x)]];
  const t = el("table"), head = el("tr");
  head.append(el("th", {style: "cursor:default"}, "output"));
  for (const [title] of outputs) head.append(el("th", {class: "n", style: "cursor:default"}, title));
  t.append(head);
  for (const o of data.precision.outputs) {
    const row = el("tr", {style: "cursor:default"});
    row.append(el("td", {}, o.output));
    for (const [, key, show] of outputs) row.append(el("td", {class: "n"}, `${show(o.before[key])} → ${show(o.after[key])}`));
    t.append(row);
  }
  $("outputerrors").append(t);
  const parts = ["own", "inherited", "total"], list = data.precision.nodes;
  const heads = [["node", n => n.node], ["operator", n => n.op], ["type", n => n.type], ...["before", "after"].flatMap(when => parts.map(part => [`${part}, ${when}`, n => n[when][part] ?? -1]))];
  let by = {column: 6, down: true};
  heads.forEach(([title], k) => {
    const h = el("th", {class: k > 2 ? "n" : ""}, title);
    h.addEventListener("click", () => { by = {column: k, down: by.column === k ? !by.down : k > 2}; fill(); });
    $("nodeheads").append(h);
  });
  function fill() {
    const word = $("findnode").value.toLowerCase(), of = heads[by.column][1];
    const shown = list.filter(n => !word || [n.node, n.op, n.type, n.output].join("\n").toLowerCase().includes(word))
      .sort((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0) * (by.down ? -1 : 1));
    $("nodecount").textContent = `${shown.length} of ${list.length}` + (shown.length > kMostRows ? `, the first ${kMostRows} shown` : "");
    $("nodeerrors").replaceChildren(...shown.slice(0, kMostRows).map(n => {
      const row = el("tr");
      row.append(el("td", {}, n.node), el("td", {}, n.op), el("td", {}, n.type));
      for (const when of ["before", "after"]) for (const part of parts) row.append(el("td", {class: "n"}, error(n[when][part])));
      row.addEventListener("click", () => { const s = steps.find(s => s.nodes.includes(n.node)); if (s) select(s.i, true); });
      return row;
    }));
  }
  $("findnode").addEventListener("input", fill);
  fill();
}

function about() {
  const t = el("table");
  for (const [k, v] of [["model hash", data.model_hash], ["threads", data.threads], ...Object.entries(data.tuned_shapes).map(([n, d]) => [`tuned ${n}`, dims(d)]), ...Object.entries(data.facts)]) {
    const row = el("tr", {style: "cursor:default"});
    row.append(el("td", {class: "dim"}, k), el("td", {}, String(v)));
    t.append(row);
  }
  $("about").append(t);
}

header(); answer(); table(); listeners.push(detail); roofline(); graph(); memory(); types(); remarks(); proof(); precision(); about();
