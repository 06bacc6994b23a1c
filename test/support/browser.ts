import { existsSync } from 'node:fs';
import { afterAll, afterEach, describe } from '@jest/globals';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';
const FLAGS =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking ' +
  '--disable-component-update --disable-sync --process-per-site';

/** A page, and what went wrong on it. */
export interface Tab {
  readonly page: Page;
  /** errors of scripts, and what the page's policy refused */
  readonly complaints: readonly string[];
}

/** `describe`, where there is a browser; else its tests are skipped, and a line says so. */
export function describeInBrowser(name: string, tests: () => void): void {
  if (existsSync(CHROMIUM)) return void describe(name, tests);
  process.stderr.write(`skipped, as there is no ${CHROMIUM} (apt-get install chromium): ${name}\n`);
  describe.skip(name, tests);
}

/**
 * Gives a function that opens a tab. The first one starts the browser.
 * @param kept what is kept from tab to tab of a suite: nothing, or `visitor` for suites that only look at pages, where tabs
 *   with the same options share a process
 */
export function tabs(
  kept: 'nothing' | 'visitor' = 'nothing',
): (options?: BrowserContextOptions) => Promise<Tab> {
  let browser: Promise<Browser> | undefined;
  const open = new Set<BrowserContext | Page>();
  const visitors = new Map<string, Promise<BrowserContext>>();
  afterEach(async () => {
    for (const one of open) await one.close();
    open.clear();
  });
  afterAll(async () => {
    await (await browser)?.close();
  });
  return async (options = {}) => {
    // Not with a profile of its own: that opens a window, whose tab strip takes as long to draw as a page.
    browser ??= chromium.launch({ executablePath: CHROMIUM, args: FLAGS.split(' ') });
    const running = await browser;
    const name = JSON.stringify(options);
    const visitor = visitors.get(name) ?? running.newContext(options);
    if (kept === 'visitor') visitors.set(name, visitor);
    const context = await visitor;
    const page = await context.newPage();
    open.add(kept === 'visitor' ? page : context);
    page.setDefaultTimeout(10_000); // less than a test has, so that it says what it waited for
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    return { page, complaints };
  };
}
