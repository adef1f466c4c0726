// The places of a page that become alive in a browser. Without script they show a picture or a table.

export function place(kind, name, words) {
  return "";
}
