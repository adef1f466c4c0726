// The states of a connection, one step after the other. The table of the steps stays below it.

const STATES = ["CONN_READING", "CONN_WRITING", "CONN_CLOSED"];

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

const bytes = text => (text ? text.split(" ") : []);

// The bytes of a connection as boxes; those that were sent are pale.
function boxes(text, sent = 0) {
  const found = bytes(text).map((byte, at) => element("code", at < sent ? "byte sent" : "byte", byte));
  return found.length ? found : ["–"];
}

export function states(place) {
  const steps = JSON.parse(place.dataset.steps), words = JSON.parse(place.dataset.words);
  const rows = [...place.querySelectorAll("tbody tr")];
  const shown = element("div", "step");
  shown.setAttribute("aria-live", "polite");
  const button = (text, by) => {
    const made = element("button", "", text);
    made.onclick = () => show(at + by);
    return made;
  };
  const back = button(words.back, -1), forward = button(words.forward, 1), count = element("span", "count");
  const all = place.querySelector("details");
  all.open = false;
  all.before(element("div", "stepper", element("div", "tools", back, forward, count), shown));
  let at = 0;

  function show(wanted) {
    at = Math.max(0, Math.min(steps.length - 1, wanted));
    back.disabled = at === 0;
    forward.disabled = at === steps.length - 1;
    count.textContent = words.of.replace("{}", at + 1).replace("{}", steps.length);
    rows.forEach((row, number) => row.classList.toggle("now", number === at));
    shown.replaceChildren(...described(steps[at], words));
  }

  rows.forEach((row, number) => (row.onclick = () => show(number)));
  place.addEventListener("keydown", event => {
    if (event.key === "ArrowRight") show(at + 1);
    if (event.key === "ArrowLeft") show(at - 1);
  });
  show(0);
}

function described(step, words) {
  const [client, ready, call, came, frame, , interest, gone] = words.step;
  const fact = (name, ...value) => element("p", "fact", element("span", "name", name), ...value);
  const sent = step.state === "CONN_WRITING" ? step.sent : 0;
  return [
    fact(client, step.client || "–"),
    fact(ready, element("code", "", step.ready)),
    fact(call, element("code", "", step.call)),
    fact(came, ...boxes(step.in)),
    fact(frame, ...boxes(step.buffer, sent), ...(sent ? [` ${sent} ${words.sent}`] : [])),
    element("div", "boxes", ...STATES.map(name => {
      const now = name === step.state, waits = element("small", "", now ? `${interest}: ${step.interest || words.none}` : "");
      return element("div", now ? "state now" : "state", element("code", "", name), waits);
    })),
    fact(gone, ...boxes(step.out)),
  ];
}
