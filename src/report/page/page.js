"use strict";
/* The charts of a page. What they show stands in two places: the object in #data says which charts
 * there are and which columns of which tables they draw; a column is a script element of base64
 * (report/table.h says how it is packed), unpacked when a chart is first drawn. All values are
 * there; a chart draws the least and the greatest of each pixel or so. */
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const charts = [], axes = {};
const POINTS = 1500;

/* ---- making elements ---- */

function el(tag, attributes, ...children) {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {}))
        e.setAttribute(name, value);
    e.append(...children);
    return e;
}

function svg(width, height, ...shapes) {
    const ns = "http://www.w3.org/2000/svg", s = document.createElementNS(ns, "svg");
    s.setAttribute("viewBox", `0 0 ${width} ${height}`);
    s.setAttribute("class", "swatch");
    s.setAttribute("aria-hidden", "true");
    for (const [tag, attributes] of shapes) {
        const shape = document.createElementNS(ns, tag);
        for (const [name, value] of Object.entries(attributes))
            shape.setAttribute(name, value);
        s.append(shape);
    }
    return s;
}

const short = unit => ["%", "ratio", "B", "B/s", "ms", "W", ""].includes(unit);
const noteOf = spec => [short(spec.unit) ? "" : spec.unit, spec.note].filter(Boolean).join(", ");
const colour = name => getComputedStyle(root).getPropertyValue(name).trim();

/* ---- numbers as text ---- */

const plain = v => {
    if (!isFinite(v)) return "–";
    const a = Math.abs(v);
    if (a !== 0 && (a < 1e-4 || a >= 1e15)) return v.toPrecision(3);
    if (a >= 1000) return Math.round(v).toLocaleString("en-US");
    return String(+v.toPrecision(a >= 100 ? 4 : 3));
};

function text(v, unit) {
    if (!isFinite(v)) return "–";
    if (unit === "ratio") return plain(100 * v) + " %";
    if (unit === "B" || unit === "B/s") {
        const prefixes = ["", "k", "M", "G", "T", "P"];
        let i = 0;
        for (; Math.abs(v) >= 999.5 && i < 5; i++) v /= 1000;
        return plain(v) + " " + prefixes[i] + unit;
    }
    return plain(v) + (unit ? " " + unit : "");
}

function clock(s, step) {
    const sign = s < 0 ? "−" : "", whole = Math.floor(Math.abs(s) + 1e-6);
    const two = n => String(n).padStart(2, "0");
    const h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60, rest = whole % 60;
    const part = step < 1 ? (Math.abs(s) - whole).toFixed(step < 0.1 ? 2 : 1).slice(1) : "";
    return sign + (h ? `${h}:${two(m)}` : m) + ":" + two(rest) + part;
}

/* ---- columns ---- */

async function unpack(column, n) {
    const coded = atob(document.getElementById(column.id).textContent);
    const bytes = new Uint8Array(coded.length);
    for (let i = 0; i < coded.length; i++) bytes[i] = coded.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const planes = new Uint8Array(await new Response(stream).arrayBuffer());
    const width = column.scale ? 4 : 8, joined = new Uint8Array(n * width);
    for (let k = 0; k < width; k++)
        for (let i = 0, from = k * n; i < n; i++) joined[i * width + k] = planes[from + i];
    if (!column.scale) return new Float64Array(joined.buffer);
    const steps = new Int32Array(joined.buffer), out = new Float64Array(n);
    for (let i = 0, whole = column.from; i < n; i++)
        out[i] = steps[i] === -2147483648 ? NaN : (whole += steps[i]) / column.scale;
    return out;
}

function column(table, name) {
    const t = data.tables[table], c = t.columns.find(x => x.name === name);
    if (!c) return null;
    return c.values || (c.values = unpack(c, t.n));
}

/* Growth per second of a column that counts up. Rows may stand close together where a phase ends,
 * so a difference goes over half the usual distance at least. */
function growth(x, total) {
    const gaps = [];
    for (let i = 1; i < x.length; i += 1 + (x.length >> 10)) gaps.push(x[i] - x[i - 1]);
    const least = gaps.sort((a, b) => a - b)[gaps.length >> 1] / 2 || 0;
    const out = new Float64Array(total.length).fill(NaN);
    for (let i = 1, from = 0; i < total.length; i++) {
        while (from + 1 < i && x[i] - x[from + 1] >= least) from++;
        if (x[i] > x[from]) out[i] = (total[i] - total[from]) / (x[i] - x[from]);
    }
    return out;
}

/* The rows where a column that is known at few of them is known, so that its line does not break. */
function dense(series, by, x, y) {
    const kept = series.kept || (series.kept = {});
    if (kept[by]) return kept[by];
    let known = 0;
    for (const v of y) known += !isNaN(v);
    if (known * 2 >= y.length) return kept[by] = { x, y };
    const has = (_, i) => !isNaN(y[i]);
    return kept[by] = { x: x.filter(has), y: y.filter(has) };
}

async function load(series, by) {
    const [x, raw] = await Promise.all([column(series.table, by), column(series.table, series.column)]);
    if (series.total) {
        const seconds = await column(series.table, "seconds");
        return { x, y: series.rates || (series.rates = growth(seconds, raw)) };
    }
    return x && raw ? dense(series, by, x, raw) : { x, y: raw };
}

/* The first i with x[i] >= v. */
function position(x, v) {
    let low = 0, high = x.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (x[middle] < v) low = middle + 1; else high = middle;
    }
    return low;
}

/* The points to draw between two ends, one more on either side: all, or of each of many stretches
 * the least and the greatest. */
function thinned(x, y, from, to) {
    const a = Math.max(0, position(x, from) - 1), b = Math.min(x.length, position(x, to) + 2);
    const out = [], n = b - a;
    if (n <= POINTS) {
        for (let i = a; i < b; i++) out.push({ x: x[i], y: y[i] });
        return out;
    }
    const each = n / (POINTS / 2);
    for (let k = 0; k < POINTS / 2; k++) {
        const start = a + Math.floor(k * each), end = Math.min(b, a + Math.floor((k + 1) * each));
        let low = start, high = start;
        for (let i = start; i < end; i++) {
            if (!(y[i] >= y[low])) low = isNaN(y[i]) && !isNaN(y[low]) ? low : i;
            if (!(y[i] <= y[high])) high = isNaN(y[i]) && !isNaN(y[high]) ? high : i;
        }
        const [first, second] = low < high ? [low, high] : [high, low];
        out.push({ x: x[first], y: y[first] });
        if (second !== first) out.push({ x: x[second], y: y[second] });
    }
    return out;
}

/* ---- ticks of time ---- */

const TIME_STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900,
    1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000];

function timeTicks(scale) {
    const wanted = Math.max(2, Math.floor(scale.width / 76)), span = scale.max - scale.min;
    const step = TIME_STEPS.find(s => span / s <= wanted) || span / wanted;
    const ticks = [];
    for (let k = Math.ceil(scale.min / step - 1e-9); k * step <= scale.max + 1e-9; k++)
        ticks.push({ value: k * step });
    scale.ticks = ticks;
    scale.timeStep = step;
}

/* ---- what happened meanwhile: behind the curves ---- */

const shown = { epoch: true, evaluation: true, ingest: true, init: true };
const markNames = { epoch: "epochs", evaluation: "evaluation", ingest: "ingest", init: "preparation" };

function drawMark(ctx, area, span, left, right) {
    if (span.kind === "epoch") {
        ctx.strokeStyle = colour("--soft");
        ctx.globalAlpha = 0.5;
        ctx.setLineDash([2, 3]);
        ctx.beginPath();
        ctx.moveTo(left, area.top);
        ctx.lineTo(left, area.bottom);
        ctx.stroke();
        if (right - left > 26 && span.number) {
            ctx.globalAlpha = 1;
            ctx.fillStyle = colour("--soft");
            ctx.font = "10px " + colour("--sans");
            ctx.fillText(span.number, left + 3, area.top + 9);
        }
        return;
    }
    ctx.fillStyle = colour(span.kind === "ingest" ? "--ingest" : span.kind === "init" ? "--soft" : "--band");
    ctx.globalAlpha = 0.13;
    if (span.kind === "ingest") {
        ctx.fillRect(left, area.bottom - 5, right - left, 5);
        ctx.globalAlpha = 0.85;
        ctx.fillRect(left, area.bottom - 3, right - left, 3);
    } else
        ctx.fillRect(left, area.top, Math.max(1, right - left), area.bottom - area.top);
}

const marks = {
    id: "marks",
    beforeDatasetsDraw(chart) {
        const axis = chart.options.axisOfPage, x = chart.scales.x, area = chart.chartArea;
        if (axis.by !== "seconds") return;
        const ctx = chart.ctx;
        for (const span of data.spans) {
            if (span.run !== 0 || !shown[span.kind] || span.to < x.min || span.from > x.max) continue;
            const left = Math.max(area.left, x.getPixelForValue(span.from));
            const right = Math.min(area.right, x.getPixelForValue(span.to));
            ctx.save();
            ctx.beginPath();
            ctx.rect(area.left, area.top, area.width, area.height);
            ctx.clip();
            drawMark(ctx, area, span, left, right);
            ctx.restore();
        }
    },
};

/* ---- a chart ---- */

const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]];
const DASHES_AGAIN = [[14, 3], [5, 2, 1, 2], [1, 2], [14, 3, 2, 3, 2, 3]];

/* Several runs: a colour a run, a dash a column; from the ninth run on the colours come again, with
 * dashes of their own. One run: a colour a column. */
function look(chart, series) {
    const columns = [...new Set(chart.spec.series.map(s => s.column))];
    const at = columns.indexOf(series.column), several = data.runs.length > 1;
    return {
        colour: colour("--c" + (several ? series.run : at) % 8),
        dash: several ? (series.run < 8 ? DASHES : DASHES_AGAIN)[at % 4] : DASHES[at > 3 ? 1 : 0],
    };
}

function swatch(style) {
    return svg(20, 10, ["line", { x1: 0, y1: 5, x2: 20, y2: 5, stroke: style.colour,
        "stroke-width": 3, "stroke-dasharray": style.dash.join(" ") || "none" }]);
}

function labelOf(series) {
    return data.runs.length > 1 ? `${data.runs[series.run]}: ${series.label}` : series.label;
}

function makeLegend(chart) {
    chart.legend.replaceChildren();
    for (const series of chart.spec.series) {
        const value = el("b", {});
        const button = el("button", { type: "button", "aria-pressed": String(!series.hidden) },
            swatch(look(chart, series)), labelOf(series), " ", value);
        button.addEventListener("click", () => {
            series.hidden = !series.hidden;
            button.setAttribute("aria-pressed", String(!series.hidden));
            draw(chart);
        });
        series.value = value;
        chart.legend.append(button);
    }
}

function options(chart) {
    const axis = chart.axis, soft = colour("--soft"), line = colour("--line");
    const font = { family: colour("--sans"), size: 11 };
    return {
        animation: false, parsing: false, normalized: true, responsive: true,
        maintainAspectRatio: false, events: [], axisOfPage: axis,
        layout: { padding: { right: 8 } },
        elements: { line: { borderWidth: 1.6, tension: 0 }, point: { radius: 0 } },
        plugins: { legend: { display: false }, tooltip: { enabled: false } },
        scales: {
            x: {
                type: "linear", min: axis.from, max: axis.to,
                grid: { color: line, drawTicks: false, borderColor: line },
                afterBuildTicks: axis.by === "seconds" ? timeTicks : undefined,
                ticks: {
                    color: soft, font, maxRotation: 0, autoSkip: axis.by !== "seconds", maxTicksLimit: 7,
                    callback(v) { return axis.by === "seconds" ? clock(v, this.timeStep) : plain(v); },
                },
            },
            y: {
                beginAtZero: chart.spec.id !== "quality" && chart.spec.id !== "loss",
                grace: ["%", "ratio"].includes(chart.spec.unit) ? 0 : "4%",
                /* One width, so that the axes of time lie below each other. */
                afterFit(scale) { scale.width = 64; },
                grid: { color: line, drawTicks: false, borderColor: line },
                ticks: { color: soft, font, maxTicksLimit: 5, padding: 6, 
                    callback: v => text(v, short(chart.spec.unit) ? chart.spec.unit : "") },
            },
        },
    };
}

/* Draws what its axis shows now; makes it first where it is not there yet. */
async function draw(chart) {
    const axis = chart.axis, turn = chart.turn = (chart.turn || 0) + 1;
    const all = await Promise.all(chart.spec.series.map(s => load(s, axis.by)));
    if (turn !== chart.turn) return;
    chart.data = all;
    const datasets = chart.spec.series.map((series, i) => {
        const style = look(chart, series), { x, y } = all[i];
        const points = x && y ? thinned(x, y, axis.from, axis.to) : [];
        return {
            label: labelOf(series), data: points, hidden: !!series.hidden, borderColor: style.colour,
            backgroundColor: style.colour, borderDash: style.dash,
            pointRadius: points.length < 40 ? 2.5 : 0,
        };
    });
    if (chart.drawn) {
        chart.drawn.data.datasets = datasets;
        chart.drawn.options = options(chart);
        chart.drawn.update("none");
    } else
        chart.drawn = new Chart(chart.canvas, { type: "line", data: { datasets }, options: options(chart), plugins: [marks] });
    chart.stale = false;
    if (!root.dataset.drawn) {
        root.dataset.drawn = "some";
        performance.mark("drawn");
    }
    placeCursor(chart);
}

/* ---- the axes: charts of one axis show the same stretch ---- */

function redraw(axis) {
    for (const chart of charts)
        if (chart.axis === axis) {
            if (chart.near) draw(chart); else chart.stale = true;
        }
    tellWindow();
}

function zoom(axis, from, to) {
    const least = axis.by === "seconds" ? 0.05 : 1, whole = axis.end - axis.start;
    const width = Math.min(whole, Math.max(to - from, least));
    axis.from = Math.max(axis.start, Math.min(from, axis.end - width));
    axis.to = axis.from + width;
    redraw(axis);
}

const scaled = (axis, factor) => {
    const middle = axis.cursor >= axis.from && axis.cursor <= axis.to ? axis.cursor : (axis.from + axis.to) / 2;
    zoom(axis, middle - (middle - axis.from) * factor, middle + (axis.to - middle) * factor);
};
const everything = axis => zoom(axis, axis.start, axis.end);
const moved = (axis, share) => {
    const by = (axis.to - axis.from) * share;
    zoom(axis, axis.from + by, axis.to + by);
};

/* ---- the cursor and what it reads ---- */

/* The row nearest to v; of a column with holes, still the row. */
function nearest(x, v) {
    const at = position(x, v);
    if (at === 0) return 0;
    if (at === x.length) return at - 1;
    return v - x[at - 1] <= x[at] - v ? at - 1 : at;
}

function placeCursor(chart) {
    const { axis, drawn } = chart;
    if (!drawn) return;
    const at = axis.cursor, visible = at !== null && at >= axis.from && at <= axis.to;
    const area = drawn.chartArea, style = chart.cursor.style;
    style.display = visible ? "block" : "none";
    if (visible) {
        style.left = drawn.scales.x.getPixelForValue(at) + "px";
        style.top = area.top + "px";
        style.height = area.height + "px";
    }
    chart.spec.series.forEach((series, i) => {
        const { x, y } = chart.data[i];
        series.value.textContent = visible && x && x.length ? text(y[nearest(x, at)], chart.spec.unit) : "";
    });
    chart.readout.textContent = !visible ? "" :
        (axis.by === "seconds" ? "at " + clock(at, 0.1) : "at " + plain(at) + " samples");
}

function setCursor(axis, at) {
    axis.cursor = at;
    for (const chart of charts)
        if (chart.axis === axis && chart.near) placeCursor(chart);
}

/* To the row before or behind: of the chart's first series that has rows. */
function stepCursor(chart, by) {
    const axis = chart.axis, rows = chart.data && chart.data.find(d => d.x && d.x.length);
    if (!rows) return;
    const middle = (axis.from + axis.to) / 2;
    const at = axis.cursor === null ? nearest(rows.x, middle) : nearest(rows.x, axis.cursor) + by;
    const value = rows.x[Math.max(0, Math.min(rows.x.length - 1, at))];
    if (value < axis.from || value > axis.to) moved(axis, value < axis.from ? -0.5 : 0.5);
    setCursor(axis, value);
    chart.said.textContent = chart.readout.textContent + ": " + chart.spec.series
        .filter(s => !s.hidden).map(s => `${labelOf(s)} ${s.value.textContent}`).join(", ");
}

/* ---- pointer and keys ---- */

function listen(chart) {
    const plot = chart.plot;
    let from = null;
    const at = event => {
        const x = chart.drawn.scales.x, left = chart.canvas.getBoundingClientRect().left;
        return Math.max(x.min, Math.min(x.max, x.getValueForPixel(event.clientX - left)));
    };
    plot.addEventListener("pointerdown", event => {
        if (!chart.drawn || event.button !== 0 || event.pointerType === "touch") return;
        from = at(event);
        plot.setPointerCapture(event.pointerId);
    });
    plot.addEventListener("pointermove", event => {
        if (!chart.drawn) return;
        const now = at(event), x = chart.drawn.scales.x, style = chart.select.style;
        setCursor(chart.axis, now);
        if (from === null) return;
        const [a, b] = [Math.min(from, now), Math.max(from, now)].map(v => x.getPixelForValue(v));
        style.display = "block";
        style.left = a + "px";
        style.width = b - a + "px";
        style.top = chart.drawn.chartArea.top + "px";
        style.height = chart.drawn.chartArea.height + "px";
    });
    plot.addEventListener("pointerup", event => {
        if (from === null) return;
        const to = at(event), x = chart.drawn.scales.x;
        chart.select.style.display = "none";
        if (Math.abs(x.getPixelForValue(to) - x.getPixelForValue(from)) > 5)
            zoom(chart.axis, Math.min(from, to), Math.max(from, to));
        from = null;
    });
    plot.addEventListener("pointerleave", () => { if (from === null) setCursor(chart.axis, null); });
    plot.addEventListener("dblclick", () => everything(chart.axis));
    plot.addEventListener("keydown", event => {
        const keys = {
            "+": () => scaled(chart.axis, 0.5), "=": () => scaled(chart.axis, 0.5),
            "-": () => scaled(chart.axis, 2), "0": () => everything(chart.axis),
            ArrowLeft: () => event.shiftKey ? moved(chart.axis, -0.25) : stepCursor(chart, -1),
            ArrowRight: () => event.shiftKey ? moved(chart.axis, 0.25) : stepCursor(chart, 1),
            Escape: () => setCursor(chart.axis, null),
        };
        if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        keys[event.key]();
    });
}

/* ---- CSV ---- */

const cell = s => /[",\n]/.test(s) ? '"' + s.replaceAll('"', '""') + '"' : s;

/* All points of a chart: a table of the keys and the chart's columns, run by run; a cell of a column
 * that a run does not have is empty. */
async function csvOf(spec) {
    const several = data.runs.length > 1, tables = [...new Set(spec.series.map(s => s.table))];
    const drawn = [...new Set(spec.series.map(s => s.column))];
    const keys = ["time_ms", "elapsed_s", "seconds", "phase", "epoch", "step", "samples"]
        .filter(k => !drawn.includes(k) && tables.some(table => data.tables[table].columns.some(c => c.name === k)));
    const lines = [[...(several ? ["run"] : []), ...keys, ...drawn].map(cell).join(",")];
    for (const table of tables) {
        const t = data.tables[table];
        const all = await Promise.all([...keys, ...drawn].map(n => column(table, n)));
        const run = cell(data.runs[spec.series.find(s => s.table === table).run]);
        const phase = keys.indexOf("phase");
        for (let i = 0; i < t.n; i++) {
            const row = all.map((v, k) => !v || isNaN(v[i]) ? "" : k === phase ? cell(t.words[v[i]]) : String(v[i]));
            lines.push((several ? run + "," : "") + row.join(","));
        }
    }
    return lines.join("\n") + "\n";
}

function saveText(name, words) {
    const url = URL.createObjectURL(new Blob([words], { type: "text/csv" }));
    el("a", { href: url, download: name + ".csv" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
}

const saveCsv = async spec => saveText(spec.id, await csvOf(spec));

/* ---- the page around the charts ---- */

function makeChart(spec, axis) {
    const canvas = el("canvas", { role: "img", "aria-label": spec.title });
    const cursor = el("div", { class: "cursor" }), select = el("div", { class: "select" });
    const plot = el("div", { class: "plot", tabindex: "0", role: "group",
        "aria-label": spec.title + ": plus and minus zoom, zero shows all, arrows read values" }, canvas, cursor, select);
    const legend = el("div", { class: "legend" }), readout = el("output", { class: "readout" });
    const said = el("div", { class: "said", role: "status" });
    const csv = el("button", { type: "button", class: "csv", "aria-label": "CSV of " + spec.title }, "CSV");
    csv.addEventListener("click", () => saveCsv(spec));
    const figure = el("figure", { class: "chart", id: "chart-" + spec.id },
        el("header", {}, el("h3", {}, spec.title), el("small", {}, noteOf(spec)), readout, csv), plot, legend, said);
    const chart = { spec, axis, canvas, cursor, select, plot, legend, readout, said, figure, near: false };
    makeLegend(chart);
    listen(chart);
    charts.push(chart);
    return figure;
}

function choice(name, legend, values, changed) {
    const box = el("fieldset", { class: "choice" }, el("legend", {}, legend));
    values.forEach(([value, words], i) => {
        const input = el("input", { type: "radio", name, value });
        input.checked = i === 0;
        input.addEventListener("change", () => changed(value));
        box.append(el("label", {}, input, el("span", {}, words)));
    });
    return box;
}

function button(words, label, action) {
    const b = el("button", { type: "button", "aria-label": label, title: label }, words);
    b.addEventListener("click", action);
    return b;
}

function markButtons() {
    const box = el("div", { class: "marks", role: "group", "aria-label": "Marks behind the curves" });
    for (const kind of Object.keys(shown)) {
        if (!data.spans.some(s => s.kind === kind && s.run === 0)) continue;
        const sign = kind === "epoch"
            ? svg(20, 10, ["line", { x1: 10, y1: 0, x2: 10, y2: 10, stroke: "var(--soft)", "stroke-dasharray": "2 2" }])
            : svg(20, 10, ["rect", { x: 0, y: kind === "ingest" ? 6 : 0, width: 20, height: kind === "ingest" ? 4 : 10,
                fill: kind === "ingest" ? "var(--ingest)" : kind === "init" ? "var(--soft)" : "var(--band)",
                "fill-opacity": kind === "ingest" ? 0.85 : 0.3 }]);
        const b = el("button", { type: "button", "aria-pressed": "true" }, sign,
            markNames[kind] + (data.runs.length > 1 ? " of " + data.runs[0] : ""));
        b.addEventListener("click", () => {
            shown[kind] = !shown[kind];
            b.setAttribute("aria-pressed", String(shown[kind]));
            for (const chart of charts) if (chart.drawn) chart.drawn.update("none");
        });
        box.append(b);
    }
    return box;
}

let tellWindow = () => {};

function tools() {
    const words = el("span", { class: "window", role: "status" }), time = axes.time;
    const both = action => () => { action(axes.time); if (axes.learning !== axes.time) action(axes.learning); };
    tellWindow = () => {
        const step = time.to - time.from < 20 ? 0.1 : 1;
        words.textContent = `${clock(time.from, step)} to ${clock(time.to, step)} of ${clock(time.end, 1)}`;
    };
    const zooms = el("div", { class: "buttons", role: "group", "aria-label": "Zoom" },
        button("−", "Zoom out", both(a => scaled(a, 2))), button("+", "Zoom in", both(a => scaled(a, 0.5))),
        button("←", "Earlier", both(a => moved(a, -0.25))), button("→", "Later", both(a => moved(a, 0.25))),
        button("All", "Show all", both(everything)));
    const over = choice("over", "Learning curves over", [["seconds", "over time"], ["samples", "over samples"]], learnOver);
    const box = el("div", { class: "tools" }, zooms, words, el("span", { class: "grow" }));
    if (charts.some(c => c.spec.axis === "learning")) box.append(over);
    box.append(markButtons());
    return box;
}

function learnOver(by) {
    axes.learning = by === "seconds" ? axes.time : axes.samples;
    for (const chart of charts)
        if (chart.spec.axis === "learning") {
            chart.axis = axes.learning;
            if (chart.near) draw(chart); else chart.stale = true;
        }
}

/* From the first to the last value that any chart has on this axis. */
async function extent(by) {
    let low = Infinity, high = -Infinity;
    for (const t of data.tables) {
        const c = t.columns.find(x => x.name === by);
        if (!c || !t.n) continue;
        for (const v of await column(data.tables.indexOf(t), by)) {
            if (v < low) low = v;
            if (v > high) high = v;
        }
    }
    for (const s of by === "seconds" ? data.spans : []) {
        low = Math.min(low, s.from);
        high = Math.max(high, s.to);
    }
    if (!(high > low)) [low, high] = isFinite(low) ? [low - 0.5, low + 0.5] : [0, 1];
    low = Math.min(0, low);
    return { by, start: low, end: high, from: low, to: high, cursor: null };
}

function recolour() {
    for (const chart of charts) {
        if (chart.redo) { chart.redo(); continue; }
        makeLegend(chart);
        if (chart.drawn) draw(chart);
    }
}

function themes() {
    for (const input of document.querySelectorAll("input[name=theme]"))
        input.addEventListener("change", () => { root.dataset.theme = input.value; recolour(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
    let before;
    addEventListener("beforeprint", () => {
        before = root.dataset.theme;
        root.dataset.theme = "light";
        for (const chart of charts)
            if (chart.redo) chart.redo();
            else if (chart.drawn) {
                chart.drawn.data.datasets.forEach((d, i) => {
                    d.borderColor = d.backgroundColor = look(chart, chart.spec.series[i]).colour;
                });
                chart.drawn.options = options(chart);
                chart.drawn.update("none");
            }
    });
    addEventListener("afterprint", () => { root.dataset.theme = before; recolour(); });
}

function navigation() {
    const nav = document.getElementById("nav");
    for (const h of document.querySelectorAll("main section > h2"))
        nav.append(el("a", { href: "#" + h.parentElement.id }, h.textContent));
}

/* ---- a study: the mean of each condition and between what ends it lies ---- */

function studyOptions(labels, xUnit, yUnit, xTitle) {
    const soft = colour("--soft"), line = colour("--line"), font = { family: colour("--sans"), size: 11.5 };
    const scale = (unit, title) => ({
        beginAtZero: true, grid: { color: line, drawTicks: false, borderColor: line },
        title: { display: !!title, text: title, color: soft, font },
        ticks: { color: soft, font, maxTicksLimit: 7, padding: 6, callback: v => text(v, unit) },
    });
    const names = {
        type: "category", labels, grid: { display: false, borderColor: line },
        ticks: { color: colour("--ink"), font, autoSkip: false, crossAlign: "far",
            callback(v) { return wrapped(this.getLabelForValue(v)); } },
    };
    return {
        animation: false, responsive: true, maintainAspectRatio: false, indexAxis: labels ? "y" : "x",
        plugins: { legend: { display: false }, tooltip: { enabled: false } }, events: [],
        layout: { padding: { right: 16 } },
        scales: labels ? { x: scale(xUnit, xTitle), y: names }
            : { x: { type: "linear", ...scale(xUnit, xTitle) }, y: scale(yUnit) },
    };
}

/* Lines of at most some thirty letters. */
function wrapped(words) {
    const lines = [""];
    for (const word of words.split(" "))
        if (lines[lines.length - 1].length + word.length > 30) lines.push(word);
        else lines[lines.length - 1] += (lines[lines.length - 1] ? " " : "") + word;
    return lines;
}

/* A thin line from end to end over each mean. */
const ends = {
    id: "ends",
    afterDatasetsDraw(chart) {
        const { ctx, scales } = chart, flat = chart.options.indexAxis === "y";
        chart.data.datasets[0].ends.forEach((pair, i) => {
            if (!pair || !isFinite(pair[0]) || !isFinite(pair[1])) return;
            const at = chart.getDatasetMeta(0).data[i], along = flat ? scales.x : scales.y;
            const [a, b] = pair.map(v => along.getPixelForValue(v)), cap = 4;
            ctx.save();
            ctx.strokeStyle = colour("--ink");
            ctx.lineWidth = 1.5;
            ctx.beginPath();
            if (flat) for (const [x, y, u, v] of [[a, at.y, b, at.y], [a, at.y - cap, a, at.y + cap], [b, at.y - cap, b, at.y + cap]]) { ctx.moveTo(x, y); ctx.lineTo(u, v); }
            else for (const [x, y, u, v] of [[at.x, a, at.x, b], [at.x - cap, a, at.x + cap, a], [at.x - cap, b, at.x + cap, b]]) { ctx.moveTo(x, y); ctx.lineTo(u, v); }
            ctx.stroke();
            ctx.restore();
        });
    },
};

function studyChart(spec) {
    const canvas = el("canvas", { role: "img", "aria-label": spec.title }), plot = el("div", { class: "plot" }, canvas);
    plot.style.height = spec.height + "px";
    const csv = el("button", { type: "button", class: "csv", "aria-label": "CSV of " + spec.title }, "CSV");
    csv.addEventListener("click", () => saveText(spec.id, studyCsv()));
    const make = () => new Chart(canvas, {
        type: spec.labels ? "bar" : "scatter",
        data: { datasets: [{ data: spec.values, ends: spec.ends, backgroundColor: colour(spec.colour), borderColor: colour(spec.colour),
            maxBarThickness: 22, pointRadius: 5 }] },
        options: studyOptions(spec.labels, spec.xUnit, spec.yUnit, spec.xTitle), plugins: [ends],
    });
    let drawn;
    charts.push({ redo() { if (drawn) drawn.destroy(); drawn = make(); } });
    return el("figure", { class: "chart", id: "chart-" + spec.id },
        el("header", {}, el("h3", {}, spec.title), el("small", {}, spec.note), csv), plot);
}

function studyCsv() {
    const columns = { condition: "condition", workload: "workload", samples_per_s: "rate", samples_per_s_least: "least",
        samples_per_s_most: "most", slowdown_ratio: "slowdown", slowdown_low_ratio: "low", slowdown_high_ratio: "high",
        ingest_bytes_per_s: "ingest", ingest_p99_ms: "ingest_p99_ms" };
    return [Object.keys(columns).join(","), ...data.points.map(p => Object.values(columns).map(n => p[n] === undefined ? "" : cell(String(p[n]))).join(","))].join("\n") + "\n";
}

function studyCharts() {
    const several = new Set(data.points.map(p => p.workload)).size > 1;
    const labelled = p => several ? p.workload + ": " + p.condition : p.condition;
    const rated = data.points.filter(p => p.rate !== undefined), slow = data.points.filter(p => p.slowdown !== undefined);
    const fed = slow.filter(p => p.ingest > 0), grid = el("div", { class: "grid-charts study" });
    const height = n => 70 + 40 * n;
    if (slow.length) grid.append(studyChart({ id: "slowdown", title: "Slower than " + (data.baseline || "without"), note: "with the interval that the repeats leave",
        labels: slow.map(labelled), values: slow.map(p => p.slowdown), ends: slow.map(p => [p.low, p.high]), xUnit: "ratio", colour: "--c1", height: height(slow.length) }));
    if (rated.length) grid.append(studyChart({ id: "rate", title: "Training rate", note: "mean, and from the least to the most of the repeats",
        labels: rated.map(labelled), values: rated.map(p => p.rate), ends: rated.map(p => [p.least, p.most]), xUnit: "", xTitle: data.unit + " per second", colour: "--c0", height: height(rated.length) }));
    if (fed.length) grid.append(studyChart({ id: "slowdown-by-ingest", title: "Slowdown against ingest", note: "with the interval that the repeats leave",
        values: fed.map(p => ({ x: p.ingest, y: p.slowdown })), ends: fed.map(p => [p.low, p.high]), xUnit: "B/s", yUnit: "ratio", xTitle: "written beside the training", colour: "--c1", height: 300 }));
    document.getElementById("study-charts").append(grid);
    for (const chart of charts) chart.redo();
    root.dataset.drawn = "all";
}

/* Charts are drawn when they come near the window, and the others when there is time. */
function drawWhenNear() {
    const watch = new IntersectionObserver(entries => {
        for (const entry of entries) {
            const chart = charts.find(c => c.figure === entry.target);
            chart.near = entry.isIntersecting;
            if (chart.near && (!chart.drawn || chart.stale)) draw(chart);
        }
    }, { rootMargin: "300px" });
    for (const chart of charts) watch.observe(chart.figure);
    const later = window.requestIdleCallback || (f => setTimeout(f, 50));
    const next = async () => {
        const chart = charts.find(c => !c.drawn);
        if (!chart) { root.dataset.drawn = "all"; return; }
        await draw(chart);
        later(next);
    };
    later(next);
}

async function start() {
    const place = document.getElementById("charts");
    themes();
    navigation();
    if (data.kind === "study") { studyCharts(); return; }
    if (!place) return;
    if (!data.charts.length) {
        place.append(el("p", { class: "quiet" }, "Nothing was measured over time."));
        return;
    }
    axes.time = axes.learning = await extent("seconds");
    axes.samples = await extent("samples");
    const grid = el("div", { class: "grid-charts" });
    for (const spec of data.charts) grid.append(makeChart(spec, axes.time));
    place.append(tools(), grid, el("p", { class: "keys" }, "Drag over a chart to zoom all of them, double-click to see all again. With a chart in focus: ",
        el("kbd", {}, "+"), " ", el("kbd", {}, "−"), " zoom, ", el("kbd", {}, "0"), " shows all, ", el("kbd", {}, "←"), " ", el("kbd", {}, "→"),
        " read value by value, with ", el("kbd", {}, "Shift"), " they move the window."));
    tellWindow();
    drawWhenNear();
}

if (document.readyState === "loading") addEventListener("DOMContentLoaded", start); else start();
})();
