// The icon of each page, in the tab of the browser: a loop.

const PICTURE =
  "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'>" +
  "<path d='M26 16a10 10 0 1 1-3-7' fill='none' stroke='#5672cd' stroke-width='5'/>" +
  "<path d='M28 3v11H17z' fill='#5672cd'/></svg>";

export const ICON = `data:image/svg+xml,${encodeURIComponent(PICTURE)}`;
