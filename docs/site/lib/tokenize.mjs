// How the search cuts a text into words. Chinese has no spaces: each two characters that stand side
// by side are a word, so 缓冲区 is 缓冲 and 冲区. A name such as conn_read or back-pressure is one
// word, and so is each of its parts.
//
// VitePress sends the source of this function to the browser, so it refers to nothing outside of it.
export function tokenize(text) {
  const found = [];
  for (const [word] of text.toLowerCase().matchAll(/\p{Script=Han}+|[^\s\p{P}\p{S}\p{Script=Han}]+(?:[-_][^\s\p{P}\p{S}\p{Script=Han}]+)*/gu)) {
    if (!/\p{Script=Han}/u.test(word)) {
      const parts = word.split(/[-_]/);
      found.push(word, ...(parts.length > 1 ? parts : []));
    } else if (word.length === 1) {
      found.push(word);
    } else {
      for (let at = 0; at + 1 < word.length; at++) found.push(word.slice(at, at + 2));
    }
  }
  return found;
}
