import { createHash } from 'node:crypto';

const STYLE = `
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#59636e;--line:#d8dee4;--pane:#f5f7f9;
--add:#116329;--addbg:#e2f6e6;--del:#a40e26;--delbg:#ffe9e9;--hunk:#6639ba;--mod:#8a5a00}
@media (prefers-color-scheme:dark){:root{--bg:#0f1317;--fg:#e6eaee;--soft:#98a3ae;--line:#303840;--pane:#171c22;
--add:#6fdd8b;--addbg:#12301b;--del:#ff9492;--delbg:#3c1618;--hunk:#c297ff;--mod:#e3b341}}
body{margin:0 auto;max-width:72rem;padding:1.5rem 1rem 4rem;background:var(--bg);color:var(--fg);
font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2.5rem 0 .3rem;border-top:1px solid var(--line);padding-top:1.2rem}
p{margin:.3rem 0}.soft{color:var(--soft)}ul{margin:.3rem 0;padding-left:1.2rem}
table{border-collapse:collapse;margin:1rem 0;width:100%}th,td{text-align:left;padding:.2rem .8rem .2rem 0;vertical-align:top}
th{font-weight:600;color:var(--soft)}th,td.n{white-space:nowrap}
code,pre,.name,.k{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.87em}
#find{position:sticky;top:0;background:var(--bg);padding:.6rem 0;z-index:1}
#find input{font:inherit;color:inherit;background:var(--pane);border:1px solid var(--line);border-radius:6px;
padding:.35rem .6rem;width:min(28rem,100%);box-sizing:border-box}
.file{border:1px solid var(--line);border-top-width:0;content-visibility:auto;contain-intrinsic-size:auto 2rem}
.files>.file:first-child{border-top-width:1px}
.row,summary{display:flex;gap:.7rem;align-items:baseline;padding:.25rem .7rem}
summary{cursor:pointer}summary:hover{background:var(--pane)}
details.file>summary{list-style:none}details.file>summary::before{content:"▸";color:var(--soft)}
details.file[open]>summary::before{content:"▾"}.row::before{content:"▸";visibility:hidden}
.name{flex:1;white-space:pre-wrap}.k{width:1ch;font-weight:700}.k.created{color:var(--add)}.k.deleted{color:var(--del)}
.k.modified,.k.type,.k.metadata{color:var(--mod)}.k.unknown,.mark{color:var(--hunk)}
.mark{border:1px solid;border-radius:999px;padding:0 .5rem;font-size:.75em;white-space:nowrap}
.plus{color:var(--add)}.minus{color:var(--del)}.count,.note{white-space:nowrap;font-size:.87em}
.said{padding:.2rem .8rem;font-size:.87em;background:var(--pane);margin:0;color:var(--soft)}
pre.diff{margin:0;padding:.5rem 0;overflow:auto;max-height:80vh;border-top:1px solid var(--line);line-height:1.35}
pre.diff,pre.diff span{white-space:pre}pre.diff{padding-left:.8rem}
pre.diff span{display:block;margin-left:-.8rem;padding-left:.8rem}
pre.diff .add{background:var(--addbg);color:var(--add)}pre.diff .del{background:var(--delbg);color:var(--del)}
pre.diff .hunk{color:var(--hunk)}pre.diff .head{color:var(--soft)}
.more{margin:.8rem 0}.more>summary{padding:.25rem 0}[hidden]{display:none!important}
@media (max-width:40rem){.note{display:none}}
`;

const SCRIPT = `
(() => {
  const files = [...document.querySelectorAll('.file')].map((element) => ({
    element,
    name: element.querySelector('.name').textContent.toLowerCase(),
  }));
  const find = document.getElementById('find');
  const box = find.querySelector('input');
  const count = find.querySelector('output');
  const filter = () => {
    const wanted = box.value.toLowerCase();
    let shown = 0;
    for (const { element, name } of files) {
      const hit = name.includes(wanted);
      element.hidden = !hit;
      if (hit) shown += 1;
    }
    count.textContent = wanted === '' ? '' : shown + ' of ' + files.length + ' paths';
  };
  box.addEventListener('input', filter);
  find.hidden = files.length < 2;
  const kind = (line, inHunk) => {
    if (line.startsWith('@@')) return 'hunk';
    if (!inHunk) return 'head';
    return line.startsWith('+') ? 'add' : line.startsWith('-') ? 'del' : '';
  };
  document.addEventListener('toggle', ({ target }) => {
    const pre = target.open === true ? target.querySelector(':scope > pre.diff') : null;
    if (pre === null || pre.firstElementChild !== null) return;
    let inHunk = false;
    const lines = pre.textContent.split('\\n').map((line) => {
      if (line.startsWith('diff --git ')) inHunk = false;
      if (line.startsWith('@@')) inHunk = true;
      const span = document.createElement('span');
      span.className = kind(line, inHunk);
      span.textContent = line === '' ? ' ' : line;
      return span;
    });
    pre.replaceChildren(...lines);
  }, true);
  filter();
})();
`;

/** The beginning of a page that loads nothing and runs no script but its own. */
export function pageHead(title: string): string {
  const policy = [
    "default-src 'none'",
    `style-src '${hashOf(STYLE)}'`,
    `script-src '${hashOf(SCRIPT)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
`;
}

/** The end of the page, with its script. */
export const PAGE_END = `<script>${SCRIPT}</script>\n</body>\n</html>\n`;

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
