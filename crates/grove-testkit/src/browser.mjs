// Drives Chromium for tests: a command a line on standard input, an answer a line on standard output.
import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [playwright, axe, program] = process.argv.slice(2);
const { chromium } = await import(pathToFileURL(playwright + '/index.mjs'));
const axeSource = readFileSync(axe + '/axe.min.js', 'utf8');
const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
const contexts = [], pages = [];
const limit = 20000;

const commands = {
  async context({ scheme, width, height, script }) {
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height }, javaScriptEnabled: script });
    context.setDefaultTimeout(limit);
    contexts.push(context);
    return contexts.length - 1;
  },
  async page({ context }) {
    const page = await contexts[context].newPage();
    page.said = [];
    page.on('console', message => page.said.push(message.text()));
    page.on('pageerror', error => page.said.push(String(error)));
    pages.push(page);
    return pages.length - 1;
  },
  async open({ page, url }) {
    const answer = await pages[page].goto(url);
    return answer ? answer.status() : 0;
  },
  async reload({ page }) { await pages[page].reload(); },
  async address({ page }) { return pages[page].url(); },
  async click({ page, selector }) { await pages[page].locator(selector).first().click(); },
  async fill({ page, selector, text }) { await pages[page].locator(selector).first().fill(text); },
  async select({ page, selector, text }) { await pages[page].locator(selector).first().selectOption(text); },
  async press({ page, key }) { await pages[page].keyboard.press(key); },
  async type({ page, text }) { await pages[page].keyboard.type(text); },
  async wait({ page, selector, text }) {
    const found = pages[page].locator(selector);
    await (text ? found.filter({ hasText: text }) : found).first().waitFor({ state: 'visible' });
  },
  async gone({ page, selector }) { await pages[page].locator(selector).first().waitFor({ state: 'detached' }); },
  async text({ page, selector }) { return await pages[page].locator(selector).first().innerText(); },
  async evaluate({ page, script }) { return await pages[page].evaluate(script); },
  async picture({ page, path }) { await pages[page].screenshot({ path, fullPage: true }); },
  async said({ page }) { return pages[page].said; },
  async close({ page }) { await pages[page].close(); },
  // Rules are run from outside the page's policy, in a world of their own.
  async axe({ page }) {
    const found = await pages[page].context().newCDPSession(pages[page]);
    const { frameTree } = await found.send('Page.getFrameTree');
    const { executionContextId } = await found.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id });
    await found.send('Runtime.evaluate', { expression: axeSource + ';0', contextId: executionContextId });
    const { result, exceptionDetails } = await found.send('Runtime.evaluate', {
      expression: 'axe.run(document).then(found => JSON.stringify(found.violations))', contextId: executionContextId, awaitPromise: true, returnByValue: true,
    });
    await found.detach();
    if (exceptionDetails) throw new Error(exceptionDetails.text);
    return JSON.parse(result.value).map(one => ({ id: one.id, impact: one.impact, nodes: one.nodes.slice(0, 5).map(node => node.html + ' ' + node.failureSummary) }));
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await commands[command.do](command)) ?? null };
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
await browser.close();
