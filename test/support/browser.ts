import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe } from '@jest/globals';
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { present } from './only.ts';

const CHROMIUM = '/usr/bin/chromium';
const FLAGS =
  '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking ' +
  '--disable-component-update --disable-sync';

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

/** Gives a function that opens a fresh tab, with nothing kept from the one before. The first one starts the browser. */
export function tabs(): (options?: BrowserContextOptions) => Promise<Tab> {
  const profile = mkdtempSync(join(tmpdir(), 'hookkit-chromium-'));
  let browser: Promise<BrowserContext> | undefined;
  const open: BrowserContext[] = [];
  afterEach(async () => {
    for (const context of open.splice(0)) await context.close();
  });
  afterAll(async () => {
    await (await browser)?.close();
    rmSync(profile, { recursive: true, force: true });
  });
  return async (options = {}) => {
    browser ??= chromium.launchPersistentContext(profile, {
      executablePath: CHROMIUM,
      args: FLAGS.split(' '),
    });
    const context = await present((await browser).browser() ?? undefined).newContext(options);
    open.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(10_000); // less than a test has, so that it says what it waited for
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    return { page, complaints };
  };
}
