import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, expect } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { type Need, testWith } from '../support/machine.js';
import { tree } from '../support/tree.js';

const AT = '/usr/bin/chromium';
const CHROMIUM: Need = { name: 'chromium of Debian', isHere: () => existsSync(AT) };
const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

let browser: Browser | undefined;
afterAll(() => browser?.close());

testWith(
  [CHROMIUM],
  'a report opens in a browser, is searched, and unfolds a diff; what is made of HTML does nothing',
  async () => {
    const it = lab();
    const evil = '<img src=x onerror="document.title=1">';
    tree(it.root, {
      'style.css': 'h1 { red }\n',
      [`${evil}.txt`]: 'old\n',
      '"><script>document.title=2<\u2215script>.txt': 'old\n',
    });
    await it.turn(
      'for f in *; do printf "</pre><script>document.title=3</script>\\n%s\\n" "$1" >> "$f"; done; ' +
        'echo "--- not a head" >> style.css',
      '--label',
      `</title></h2><script>document.title=4</script>${evil}`,
    );
    const { page, asked, said } = await opened(it);
    const title = await page.title();
    expect(title).toBe('preimage: turn t1 in ws');
    expect(await page.locator('h2').textContent()).toContain('<script>document.title=4</script>');
    expect(await page.locator('.file .name').allTextContents()).toContain(`${evil}.txt`);

    const box = page.getByPlaceholder('Find a path');
    await box.fill('STYLE');
    expect(await visibleNames(page)).toEqual(['style.css']);
    expect(await page.locator('output').textContent()).toBe('1 of 3 paths');
    const diff = page.locator('.file:visible pre.diff');
    expect(await diff.isVisible()).toBe(false);
    await page.locator('.file:visible summary').click();
    await diff.locator('.add').first().waitFor();
    expect(await diff.locator('.add').allTextContents()).toEqual([
      '+</pre><script>document.title=3</script>',
      '+',
      '+--- not a head',
    ]);
    expect(await diff.locator('.head').first().textContent()).toBe(
      'diff --git a/style.css b/style.css',
    );
    await box.fill('');
    expect(await visibleNames(page)).toHaveLength(3);
    for (const summary of await page.locator('.file summary').all()) await summary.click();
    await page.locator('details.more > summary').click();

    expect(await page.locator('img, body script:not(:last-child), iframe').count()).toBe(0);
    expect(await page.title()).toBe(title);
    expect({ asked, said }).toEqual({ asked: [], said: [] });
  },
  60_000,
);

testWith(
  [CHROMIUM],
  'a report follows the dark or the light of its reader, and its policy keeps the network out',
  async () => {
    const it = lab();
    await it.turn('echo a > a.txt; echo b > b.txt');
    const { page } = await opened(it);
    const background = (): Promise<string> =>
      page.evaluate('getComputedStyle(document.body).backgroundColor');
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await background();
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await background()).not.toBe(dark);
    const hits: string[] = [];
    const server = createServer(({ url }, answer) => {
      hits.push(url ?? '');
      answer.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const at = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const tried = await page.evaluate(
      `fetch('${at}/fetched', { mode: 'no-cors' }).then(() => 'sent', () => 'kept')`,
    );
    const image = await page.evaluate(
      `new Promise((done) => { const it = new Image(); it.onload = () => done('sent');
        it.onerror = () => done('kept'); it.src = '${at}/image'; })`,
    );
    expect({ tried, image, hits }).toEqual({ tried: 'kept', image: 'kept', hits: [] });
    server.close();
  },
  60_000,
);

testWith(
  [CHROMIUM],
  'a report of 3,000 files opens folded and is searched at once',
  async () => {
    const it = lab();
    await it.turn('for i in $(seq 3000); do echo "line $i" > "file $i.txt"; done', '--no-watch');
    const { page } = await opened(it);
    expect(await page.locator('.file').count()).toBe(3000);
    expect(await page.locator('.file[open]').count()).toBe(0);
    await page.getByPlaceholder('Find a path').fill('file 2999');
    expect(await visibleNames(page)).toEqual(['file 2999.txt']);
  },
  60_000,
);

/** Opens the report of the newest turn; `asked` is what the page wanted to load, `said` what it complained of. */
async function opened(it: Lab): Promise<{ page: Page; asked: string[]; said: string[] }> {
  const out = path.join(it.home, '..', 'report.html');
  expect(await it.run(['report', '--out', out])).toMatchObject({ code: 0, stderr: '' });
  browser ??= await chromium.launch({ executablePath: AT, args: ARGS });
  const page = await browser.newPage();
  const asked: string[] = [];
  const said: string[] = [];
  const url = pathToFileURL(out).href;
  page.on('request', (request) => {
    if (request.url() !== url) asked.push(request.url());
  });
  page.on('pageerror', ({ message }) => said.push(message));
  page.on('console', (message) => said.push(message.text()));
  page.on('dialog', (dialog) => said.push(dialog.message()));
  await page.goto(url);
  return { page, asked, said };
}

function visibleNames(page: Page): Promise<string[]> {
  return page.locator('.file:visible .name').allTextContents();
}
