/* A timeline that can be looked at: what a page of make trace and the site of the lab show. */

const LEFT = 72, RULER = 26, LOOP = 30, LANE = 104, PAUSE = 30;
const SHOWN_PAUSE_MS = 200, PIXEL_LEAST = 2, PIXEL_MOST = 80;
const WIDTH_LEAST = 22, WIDTH_MOST = 64, LABELLED = 56;

/* What a timeline itself says. The texts of the calls are in its data. */
export const ENGLISH = {
  closer: "closer",
  farther: "farther",
  whole: "all of it",
  failure: "where it failed",
  keys: ["client", "server", "bytes sent, not read yet", "read, not sent back yet", "on their way back"],
  marks: "What the marks mean",
  how: `A column is an event, in the order in which they happened; the ruler tells the milliseconds. In a
    lane, what the client does stands above, and the calls of the server below; in the row of the loop
    stand calls that are about no connection. Point at a mark to see the call and its bytes. Ctrl and the
    wheel zoom.`,
  legend: {
    connect: "the client connects",
    send: "it sends",
    recv: "it gets bytes",
    end: "it half-closes, closes, or sees the end",
    silence: "it has waited, and nothing came",
    signal: "the grader sends a signal",
    accept: "the server accepts, or makes another call",
    wait: "it waits; a line leads to each connection that is ready",
    more: "a bar at the end of that line: end of input, a hang-up, an error or urgent data",
    read: "it reads",
    write: "it writes",
    close: "it closes",
    again: "EAGAIN: nothing there, or no room",
    error: "another error",
    fault: "the grader made it fail, or cut it short",
    times: "so many times, one after the other",
    lost: "calls that are not known",
  },
  at: (from, to, took) => `at ${from} ms${to === null ? "" : ` to ${to} ms`}${took === null ? "" : `, took ${took} ms`}`,
  made: "; the grader made it so",
  levels: ([unread, held, back]) => `then ${unread} bytes to be read, ${held} held by the server, ${back} on their way back`,
  loop: "the loop",
  server: "server",
  gap: count => `… ${count} more …`,
};

const KEYS = ["client", "server", "to-server", "held", "to-client"]; /* the names of their colours */

function parts_of_page(words) {
  const keys = KEYS.map((colour, i) => `<span class="key" style="--colour: var(--${colour})">${words.keys[i]}</span>`);
  const buttons = ["closer", "farther", "whole", "failure"].map(name => `<button class="${name}">${words[name]}</button>`);
  return `
<div class="tools">${[...buttons, ...keys].join("\n")}</div>
<div class="view"></div>
<div class="tip"></div>
<details class="soft" open><summary>${words.marks}</summary>
<p class="legend"></p>
<p>${words.how}</p>
</details>
`;
}

/* Each mark as it is drawn; in the words stands what it means. */
const MARKS = {
  connect: { side: "client", kind: "connect" },
  send: { side: "client", kind: "send" },
  recv: { side: "client", kind: "recv" },
  end: { side: "client", kind: "end" },
  silence: { side: "client", kind: "silence" },
  signal: { side: "client", kind: "signal" },
  accept: { side: "server", kind: "accept" },
  wait: { side: "server", kind: "wait" },
  more: { side: "server", kind: "wait", more: true },
  read: { side: "server", kind: "read" },
  write: { side: "server", kind: "write" },
  close: { side: "server", kind: "close" },
  again: { side: "server", kind: "read", error: "EAGAIN" },
  error: { side: "server", kind: "read", error: "ECONNRESET" },
  fault: { side: "server", kind: "read", fault: true },
  times: { side: "server", kind: "wait", times: 60 },
  lost: { side: "server", kind: "lost" },
};

function element(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const top_of = lane => RULER + LOOP + lane * LANE;

function height_of(column) {
  if (column.lane === null) return RULER + LOOP / 2;
  return top_of(column.lane) + (column.side === "client" ? 14 : LANE - 18);
}

/* Where the line from a wait ends, when it has reported more than input and output. */
function bar(x, y) {
  return element("line", { x1: x - 7, x2: x + 7, y1: y, y2: y, stroke: "var(--ink)", "stroke-width": 2.5 });
}

/* A number that has room above a mark. */
function count(times) {
  if (times < 1e4) return times;
  return times < 1e6 ? `${Math.round(times / 1e3)}k` : `${(times / 1e6).toFixed(1)}M`;
}

function short(size) {
  for (const unit of ["B", "KiB", "MiB"]) {
    if (size < 1024 || unit === "MiB") return `${Math.round(10 * size) / 10} ${unit}`;
    size /= 1024;
  }
}

/* A time for the ruler, in ms: no more digits than tell it from the one before. */
const time = at => at.toFixed(at < 10 ? 2 : at < 100 ? 1 : 0);

/* Shows a timeline in an element with the class "timeline". `data`: see page.py. */
export function timeline(root, data, words = ENGLISH) {
  root.innerHTML = parts_of_page(words);
  const find = name => root.querySelector(`.${name}`);
  const view = find("view"), tip = find("tip");
  /* Of a column, in pixels: a short trace fills the view, and has room for sizes beside the marks. */
  let width = Math.min(WIDTH_MOST, Math.max(WIDTH_LEAST, (view.clientWidth - LEFT) / (data.columns.length + 2)));

  /* Where each column stands: one behind the other, and farther where nothing happened for long. */
  function places() {
    const found = [];
    let x = width;
    data.columns.forEach((column, i) => {
      const before = i ? data.columns[i - 1].end : 0;
      if (column.at - before > SHOWN_PAUSE_MS) x += PAUSE;
      if (data.gap && data.gap.behind === i) x += PAUSE;
      found.push(x);
      x += width;
    });
    return found;
  }

  /* The shape of an event, drawn around 0,0: a client's points at where its bytes go. */
  function shape(column) {
    const size = Math.min(6, Math.max(2, width / 2 - 1));
    const colour = column.side === "client" ? "var(--client)" : "var(--server)";
    const cross = `M${-size},${-size} L${size},${size} M${-size},${size} L${size},${-size}`;
    const drawn = { class: "shape", fill: colour };
    const line = { class: "shape", d: cross, fill: "none", "stroke-width": 2 };
    if (column.error === "EAGAIN" && column.kind !== "wait") /* nothing is wrong with that */
      return element("path", { ...line, stroke: "var(--soft)", "stroke-width": 1.5 });
    if (column.kind === "silence" || (column.error && column.kind !== "wait"))
      return element("path", { ...line, stroke: "var(--bad)", "stroke-width": 2.5 });
    if (column.kind === "send" || column.kind === "read")
      return element("path", { ...drawn, d: `M${-size},${-size} L${size},${-size} L0,${size} Z` });
    if (column.kind === "recv" || column.kind === "write")
      return element("path", { ...drawn, d: `M${-size},${size} L${size},${size} L0,${-size} Z` });
    if (column.kind === "end" || column.kind === "close")
      return element("path", { ...line, stroke: colour });
    if (column.kind === "wait")
      return element("rect", { ...drawn, x: -size, y: -4, width: 2 * size, height: 8, rx: 2 });
    if (column.kind === "signal")
      return element("path", { ...drawn, d: `M0,${-size - 1} L${size + 1},0 L0,${size + 1} L${-size - 1},0 Z` });
    if (column.kind === "lost")
      return element("path", { ...line, d: `M0,${-size - 2} V${size + 2}`, stroke: "var(--soft)", "stroke-dasharray": "2 2" });
    return element("circle", { ...drawn, r: size });
  }

  /* What an event is drawn with, around 0,0: its shape, and what goes with it. */
  function parts(column) {
    const found = [shape(column)];
    if (column.fault) found.push(element("circle", { r: 9, fill: "none", stroke: "var(--bad)", "stroke-dasharray": "3 2" }));
    if (column.more === true) found.push(bar(0, 10));
    if (column.times > 1 && width > 12) found.push(element("text", { y: -9, "text-anchor": "middle" }, `×${count(column.times)}`));
    return found;
  }

  function mark(column, x) {
    const y = height_of(column);
    const group = element("g", { class: "mark", tabindex: 0, transform: `translate(${x},${y})` }, ...parts(column));
    if (column.moved > 0 && column.lane !== null && column.kind !== "accept" && width >= LABELLED)
      group.append(element("text", { x: 9, y: 4 }, short(column.moved)));
    const show = event => tell(column, event);
    group.addEventListener("mousemove", show);
    group.addEventListener("focus", () => tell(column, null, group));
    group.addEventListener("mouseleave", hide);
    group.addEventListener("blur", hide);
    return group;
  }

  function tell(column, event, group) {
    const add = (name, text, style) => {
      if (!text) return;
      const part = document.createElement(name);
      part.textContent = text;
      part.className = style || "";
      tip.append(part);
    };
    tip.replaceChildren();
    add("div", column.text);
    add("div", column.step, "soft");
    const at = words.at(column.at, column.times > 1 ? column.end : null, column.took >= 0.1 ? column.took : null);
    add("div", `${at}${column.fault ? words.made : ""}`, "soft");
    if (column.lane !== null)
      add("div", words.levels(column.levels.map(level => level.toLocaleString("en"))), "soft");
    add("pre", column.bytes);
    tip.style.display = "block";
    const box = tip.getBoundingClientRect();
    const { x, y } = event ? { x: event.clientX, y: event.clientY } : group.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18}px`;
  }

  function hide() {
    tip.style.display = "none";
  }

  /* The three levels of a lane as steps, one on top of the other. */
  function levels(lane, xs, end) {
    const points = data.columns.map((column, i) => [xs[i], column]).filter(([, column]) => column.lane === lane);
    const most = most_of(lane), base = top_of(lane) + LANE - 34, room = LANE - 66;
    const group = element("g", {});
    const below = points.map(() => 0);
    ["--to-server", "--held", "--to-client"].forEach((colour, which) => {
      let path = "";
      points.forEach(([x, column], i) => {
        /* A byte that is stuck must be seen beside a megabyte that was not. */
        const size = column.levels[which] > 0 ? Math.max(3, column.levels[which] / most * room) : 0;
        const next = i + 1 < points.length ? points[i + 1][0] : end;
        if (size > 0)
          path += `M${x},${base - below[i]} V${base - below[i] - size} H${next} V${base - below[i]} Z `;
        below[i] += size;
      });
      group.append(element("path", { d: path, fill: `var(${colour})`, opacity: 0.75 }));
    });
    return group;
  }

  /* Of a connection: the largest sum of its levels, in bytes. */
  function most_of(lane) {
    const sums = data.columns.filter(column => column.lane === lane).map(column =>
      column.levels.reduce((sum, level) => sum + Math.max(0, level), 0));
    return Math.max(1, ...sums);
  }

  /* What stays at the left while the rest is scrolled. */
  function names(height) {
    const svg = element("svg", { width: LEFT, height, class: "names" });
    svg.append(element("text", { x: 6, y: 12 }, "ms"));
    svg.append(element("text", { x: 6, y: RULER + LOOP / 2 + 4, class: "name" }, words.loop));
    data.lanes.forEach((name, lane) => {
      const y = top_of(lane);
      svg.append(element("line", { x1: 0, x2: LEFT, y1: y, y2: y, stroke: "var(--grid)" }));
      svg.append(element("text", { x: 6, y: y + 18, class: "name" }, name));
      if (most_of(lane) > 1) svg.append(element("text", { x: 6, y: y + 44 }, short(most_of(lane))));
      svg.append(element("text", { x: 6, y: y + LANE - 14 }, words.server));
    });
    return svg;
  }

  function draw() {
    const xs = places(), end = (xs[xs.length - 1] || 0) + width;
    const height = top_of(data.lanes.length) + 8;
    const svg = element("svg", { width: end + 20, height, role: "img" });
    data.lanes.forEach((name, lane) => {
      const y = top_of(lane);
      if (lane % 2 === 0) svg.append(element("rect", { x: 0, y, width: end + 20, height: LANE, fill: "var(--band)" }));
      svg.append(element("line", { x1: 0, x2: end, y1: y + LANE - 34, y2: y + LANE - 34, stroke: "var(--grid)" }));
      svg.append(levels(lane, xs, end));
    });
    let ruler = -100, label_before = "";
    data.columns.forEach((column, i) => {
      const x = xs[i], before = i ? data.columns[i - 1].end : 0;
      if (column.at - before > SHOWN_PAUSE_MS) {
        const label = `${((column.at - before) / 1000).toFixed(1)} s`;
        svg.append(element("line", { x1: x - width / 2 - PAUSE / 2, x2: x - width / 2 - PAUSE / 2, y1: RULER, y2: height, stroke: "var(--soft)", "stroke-dasharray": "2 5" }));
        svg.append(element("text", { x: x - width / 2 - PAUSE / 2, y: RULER - 1, "text-anchor": "middle" }, label));
      }
      if (data.gap && data.gap.behind === i)
        svg.append(element("text", { x: x - PAUSE, y: RULER + 8, "text-anchor": "middle" }, words.gap(data.gap.count)));
      if (x - ruler > 64 && time(column.at) !== label_before) {
        ruler = x;
        label_before = time(column.at);
        svg.append(element("text", { x: Math.max(x, 16), y: 12, "text-anchor": "middle" }, label_before));
      }
      if (column.failed) svg.append(element("rect", { x: x - width / 2, y: RULER - 6, width, height: height - RULER, fill: "var(--bad)", opacity: 0.13 }));
      for (const lane of column.ready)
        svg.append(element("line", { x1: x, x2: x, y1: RULER + LOOP / 2, y2: top_of(lane) + LANE - 18, stroke: "var(--server)", opacity: 0.35 }));
      for (const lane of column.more) svg.append(bar(x, top_of(lane) + LANE - 18));
    });
    data.columns.forEach((column, i) => svg.append(mark(column, xs[i])));
    view.replaceChildren(names(height), svg);
  }

  /* Zooms, and what stands at pixel `at` of the view stays there. */
  function zoom(factor, at) {
    const before = width;
    width = Math.min(PIXEL_MOST, Math.max(PIXEL_LEAST, width * factor));
    const from = view.scrollLeft + at - LEFT;
    draw();
    view.scrollLeft = from * width / before - at + LEFT;
  }

  function legend() {
    for (const [name, column] of Object.entries(MARKS)) {
      const svg = element("svg", { width: 30, height: 32, viewBox: "-15 -20 30 32", "aria-hidden": "true" });
      svg.append(...parts(column));
      const entry = document.createElement("span");
      entry.append(svg, words.legend[name]);
      find("legend").append(entry);
    }
  }

  find("closer").onclick = () => zoom(1.5, view.clientWidth / 2);
  find("farther").onclick = () => zoom(1 / 1.5, view.clientWidth / 2);
  find("whole").onclick = () => zoom((view.clientWidth - LEFT - 40) / (data.columns.length + 2) / width, 0);
  find("failure").onclick = () => show_failure();
  view.addEventListener("wheel", event => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event.clientX - view.getBoundingClientRect().left);
  }, { passive: false });

  /* The column with which a step failed. Where none did, as with claims about CPU time, the one that
     was repeated most. -1: it passed. */
  function place_of_failure() {
    if (data.verdict !== "failed") return -1;
    const place = data.columns.findIndex(column => column.failed);
    const most = Math.max(...data.columns.map(column => column.times));
    return place >= 0 ? place : data.columns.findIndex(column => column.times === most);
  }

  function show_failure() {
    const place = place_of_failure();
    if (place >= 0) view.scrollLeft = places()[place] - view.clientWidth / 2;
  }

  if (place_of_failure() < 0) find("failure").remove();
  draw();
  legend();
  show_failure();
}
