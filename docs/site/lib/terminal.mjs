// Blocks that show a terminal: a line that begins with "$ " is a command, and so is the next one if
// it ends with a backslash. The other lines are what the commands print.

const PROMPT = /^\s*\$ /;
export const SESSION = "shellsession"; // the name of this language in Shiki

export const isSession = content => content.split("\n").some(line => PROMPT.test(line));

// For each line, whether it belongs to a command.
function commands(lines) {
  let goesOn = false;
  return lines.map(line => {
    const command = goesOn || PROMPT.test(line);
    goesOn = command && line.endsWith("\\");
    return command;
  });
}

// The copy button takes the commands only. Shiki has a node for each line, and one for each "\n".
export const copyCommands = {
  name: "lab:copy-commands",
  code(node) {
    if (this.options.lang !== SESSION) return;
    node.children = commands(this.source.split("\n")).flatMap((command, at) => {
      const line = node.children.slice(2 * at, 2 * at + 2);
      const properties = { class: "vp-copy-ignore" };
      return command ? line : [{ type: "element", tagName: "span", properties, children: line }];
    });
  },
};
