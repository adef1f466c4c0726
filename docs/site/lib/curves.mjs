// The values of a curve, read back from its SVG: the marks of the axes say what a place means.

// A mark of an axis, "16 Ki", "99.9 %", "8,000", as a number.
function number(label) {
  const [, digits, unit] = label.replace(/[, ]/g, "").match(/^([\d.]+)(Ki|Mi)?/) ?? [, NaN];
  return digits * { Ki: 1024, Mi: 1048576 }[unit ?? ""] || Number(digits);
}

// matplotlib writes 10 to the power of n as two pieces of text.
function label(text) {
  const pieces = [...text.matchAll(/<tspan[^>]*>([^<]*)</g)].map(found => found[1]);
  if (pieces.length === 2) return String(10 ** Number(pieces[1].replace("−", "-")));
  return (text.match(/<text[^>]*>([^<]*)</) ?? [, ""])[1];
}

const SCALES = [
  { there: value => value, back: place => place },
  { there: Math.log10, back: place => 10 ** place },
  { there: part => -Math.log10(1 - part / 100), back: place => 100 - 100 * 10 ** -place },
];

// The scale on which the marks of an axis stand at equal distances, as a function from a place.
function axis(svg, letter) {
  const mark = new RegExp(`id="${letter}tick_.*?<use [^>]*\\b${letter}="([\\d.]+)".*?id="text_(.*?</text>)`, "gs");
  const marks = [...svg.matchAll(mark)].map(([, at, text]) => [Number(at), number(label(text))]);
  const fits = SCALES.map(scale => fit(marks.map(([at, value]) => [at, scale.there(value)])));
  const best = fits.reduce((found, one, at) => (one.error < fits[found].error ? at : found), 0);
  const unit = svg.match(new RegExp(`id="${letter}tick_.*?>[\\d.]+( %)?</text>`, "s"))?.[1] ?? "";
  return at => written(SCALES[best].back(fits[best].start + fits[best].slope * at)) + unit;
}

// A straight line through the first and the last mark, and how far the others are from it.
function fit(marks) {
  const usable = marks.filter(([, value]) => Number.isFinite(value));
  if (usable.length < Math.max(2, marks.length - 1)) return { error: Infinity };
  const [[x0, v0], [x1, v1]] = [usable[0], usable.at(-1)];
  const slope = (v1 - v0) / (x1 - x0), start = v0 - slope * x0;
  const far = usable.map(([x, value]) => Math.abs(start + slope * x - value) / Math.abs(v1 - v0));
  return { slope, start, error: Math.max(...far) + (marks.length - usable.length) };
}

const points = path => [...path.matchAll(/[ML] ([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);
const look = style => style.match(/stroke: #\w+/)[0] + (style.match(/stroke-dasharray: [\d.,]+/) ?? [""])[0];

// The names of the lines, by their looks.
function legend(svg) {
  const text = svg.slice(svg.indexOf('id="legend_1"'));
  const entries = text.matchAll(/<path d="[^"]*" style="([^"]*)"\/>.*?<text[^>]*>([^<]*)</gs);
  return new Map([...entries].map(([, style, name]) => [look(style), name]));
}

// As it was before it became a place in a picture: powers of two are the numbers of a sweep.
function written(value) {
  const power = Math.round(Math.log2(value));
  if (Math.abs(Math.log2(value) - power) < 1e-5) value = 2 ** power;
  if (value >= 1000) return Math.round(value).toLocaleString("en");
  return String(Math.abs(value) < 1e-5 ? 0 : Number(value.toPrecision(value > 99 ? 5 : 3)));
}

// The curve with a point over each value, which says what it is.
export function withPoints(svg) {
  const names = legend(svg), [x, y] = ["x", "y"].map(letter => axis(svg, letter));
  const [below, beside] = titles(svg);
  const lines = svg.slice(svg.indexOf('id="ytick_'), svg.indexOf('id="legend_1"'))
    .matchAll(/<path d="([^"]*)" clip-path="[^"]*" style="(fill: none; stroke: #[^"]*)"\/>/g);
  const found = [];
  for (const [, path, style] of lines) {
    const name = names.get(look(style));
    if (!name || style.includes("var(--grid)")) continue;
    for (const [at, up] of points(path))
      found.push(`<circle class="point" cx="${at}" cy="${up}" r="5"><title>` +
        `${name}: ${y(up)} ${beside}; ${counted(x(at), below)}</title></circle>`);
  }
  return svg.replace(/<\/svg>\s*$/, `${found.join("\n")}</svg>`);
}

// "1 frame in flight", "2 frames in flight"
const counted = (number, what) => `${number} ${number === "1" ? what.replace(/^(\w+)s\b/, "$1") : what}`;

// What stands below the curve and beside it: the last text of each axis.
function titles(svg) {
  const [, first, second] = svg.split(/id="matplotlib\.axis_\d"/);
  const last = part => [...part.matchAll(/<text[^>]*>([^<]*)</g)].at(-1)[1];
  return [last(first), last(second.split('id="patch_')[0])];
}
