import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeInBrowser, tabs } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { type InspectedMock, inspectMock } from '../support/inspected-mock.ts';
import { inspect } from '../support/inspected-service.ts';

const TOKEN = 'the-admin-token-of-the-tests';

describeInBrowser('a reader', () => {
  let inspected: InspectedMock;
  const openTab = tabs();
  beforeAll(async () => {
    inspected = await inspectMock();
  });
  afterAll(() => inspected.dispose());

  const replaysBy = async (query: string): Promise<Map<string, number>> => {
    const { events } = await inspected.api(`/events?limit=200&${query}`);
    return new Map(events.map(({ id, replays }: { id: string; replays: number }) => [id, replays]));
  };
  const oneMoreEach = (replays: ReadonlyMap<string, number>) =>
    new Map([...replays].map(([id, count]) => [id, count + 1]));

  const attemptsOf = async (id: string): Promise<number> =>
    (await inspected.api(`/events/${id}`)).history.length;

  /** In such an order that every other one does something of its own. */
  const actions: readonly (readonly [what: string, act: () => Promise<void>])[] = [
    [
      'sees an event come in and its status change, when the list is open, without doing anything',
      async () => {
        const { page } = await openTab();
        await page.goto(`${inspected.url}/events`);
        await page.waitForSelector('#live[data-state=on]');
        const { media_id: id } = inspected.mock.createMedia({ site_id: inspected.site });
        await page.waitForSelector(`tr:has-text("media:${id}") .status.handled`);
        await page.waitForSelector(`tr:has-text("media:${id}") .status.dead`);
      },
    ],
    [
      'sees counts and concerns change, when the overview is open, without doing anything',
      async () => {
        const { page } = await openTab();
        await page.goto(inspected.url);
        await page.waitForSelector('#live[data-state=on]');
        const before = Number(await page.textContent('.tile.dead .figure'));
        inspected.mock.createMedia({ site_id: inspected.site });
        await page.waitForSelector(`.tile.dead .figure:text-is("${before + 1}")`);
        await page.waitForSelector(`.note.grave:has-text("${before + 1} events are dead")`);
      },
    ],
    [
      'gets around by keyboard, when pressing /, j, k, Enter and r',
      async () => {
        const { page } = await openTab();
        await page.goto(inspected.url);
        await page.keyboard.press('/');
        await page.waitForURL('**/events#search');
        const isFocused = () => page.evaluate<boolean>('document.activeElement?.id === "search"');
        await eventually('the search has the focus', isFocused);
        await page.keyboard.type('j');
        expect(await page.inputValue('#search')).toBe('j');
        await page.keyboard.press('Escape');
        const focused = () => page.evaluate('document.activeElement.closest("[data-row]")?.rowIndex');
        await page.keyboard.press('j');
        expect(await focused()).toBe(1);
        await page.keyboard.press('j');
        expect(await focused()).toBe(2);
        await page.keyboard.press('k');
        expect(await focused()).toBe(1);
        await page.keyboard.press('Enter');
        await page.waitForURL(/\/events\/[0-9a-z]+-/);
      },
    ],
    [
      'is told that a replay is not known, when the service was started again since',
      async () => {
        const { page } = await openTab();
        await page.goto(`${inspected.url}/events/replay?status=dead&replay=${randomUUID()}`);
        expect(await page.textContent('main')).toContain('This replay is not known');
        await page.click('text=Back to the events');
        expect(page.url()).toContain('/events?status=dead');
      },
    ],
    [
      'replays one event, when pressing r and agreeing, by list and by page, and not when declining',
      async () => {
        const { page } = await openTab();
        const { events } = await inspected.api('/events?status=dead');
        const { id } = events[0];
        const before = await attemptsOf(id);
        await page.goto(`${inspected.url}/events/${id}`);
        page.once('dialog', (dialog) => dialog.dismiss());
        await page.keyboard.press('r');
        page.once('dialog', (dialog) => dialog.accept());
        await page.keyboard.press('r');
        await page.waitForURL('**?replayed=1');
        await eventually('it has failed again', async () => (await attemptsOf(id)) === before + 3);
        await page.goto(`${inspected.url}/events?status=dead`);
        await page.keyboard.press('j');
        page.once('dialog', (dialog) => dialog.accept());
        await page.keyboard.press('r');
        await page.waitForURL('**?replayed=1');
        await inspected.settled();
      },
    ],
    [
      'finds events, when status, kind and search narrow the list, and pages on',
      async () => {
        const { page } = await openTab();
        await page.goto(`${inspected.url}/events`);
        await page.selectOption('select[name=status]', 'dead');
        await page.selectOption('select[name=kind]', 'conversions_complete');
        await page.click('button:text("Filter")');
        const dead = await inspected.service.store.count({ status: 'dead', kind: 'conversions_complete' });
        expect(await page.locator('[data-row]').count()).toBe(dead);
        const resource = (await page.textContent('[data-row] td.id')) ?? '';
        await page.goto(`${inspected.url}/events?q=${resource.slice('media:'.length)}`);
        await page.click(`text=All events of ${resource}`);
        expect(new Set(await page.locator('[data-row] td.id').allTextContents())).toEqual(
          new Set([resource]),
        );
        await page.goto('about:blank'); // no list that follows along meanwhile
        for (let n = 0; n < 20; n++) inspected.mock.createMedia({ site_id: inspected.site });
        await inspected.quiet();
        await page.goto(`${inspected.url}/events`);
        const newest = await page.textContent('[data-row] a');
        await page.click('text=Older events');
        expect(await page.locator('[data-row]').count()).toBeGreaterThan(0);
        await page.click('text=Back to the newest');
        expect(await page.textContent('[data-row] a')).toBe(newest);
      },
    ],
    [
      'replays one event with its steps, when there is no JavaScript, by the button',
      async () => {
        const { page } = await openTab({ javaScriptEnabled: false });
        const { events } = await inspected.api('/events?kind=media_available');
        const { id } = events[0];
        const before = await attemptsOf(id);
        await page.goto(`${inspected.url}/events/${id}`);
        await page.check('input[name=reset_steps]');
        await page.click('button:text("Replay")');
        expect(page.url()).toContain('replayed=1');
        await inspected.settled();
        await eventually('it has run again', async () => (await attemptsOf(id)) === before + 1);
      },
    ],
    [
      'replays what matches once, when the button is pressed twice',
      async () => {
        const { page } = await openTab({ javaScriptEnabled: false });
        const before = await replaysBy('kind=media_available');
        await page.goto(`${inspected.url}/events/replay?kind=media_available`);
        await page.dblclick(`button:text("Replay ${before.size} events")`);
        // Not waitForURL: the second press aborts the loading that the first one began.
        await page.waitForSelector(`text=${before.size} events were reset to pending`);
        expect(page.url()).toMatch(/replayed=[0-9a-f-]{36}$/);
        await inspected.settled();
        expect(await replaysBy('kind=media_available')).toEqual(oneMoreEach(before));
      },
    ],
    [
      'replays what matches, when the count is right, and sees how many',
      async () => {
        const { page } = await openTab();
        const before = await replaysBy('status=dead');
        expect(before.size).toBeGreaterThanOrEqual(3);
        await page.goto(`${inspected.url}/events?status=dead`);
        await page.click('text=Replay what matches…');
        expect(await page.textContent('.confirm')).toContain(
          `${before.size} events will be reset to pending`,
        );
        expect(await inspected.service.store.count({ status: 'dead' })).toBe(before.size);
        await page.click(`button:text("Replay ${before.size} events")`);
        expect(await page.textContent('main')).toContain(`${before.size} events were reset to pending`);
        await inspected.settled();
        expect(await replaysBy('status=dead')).toEqual(oneMoreEach(before));
      },
    ],
    [
      'sees a channel move across the board, when it becomes idle, without doing anything',
      async () => {
        const { page } = await openTab();
        await page.goto(`${inspected.url}/channels`);
        await page.waitForSelector('#live[data-state=on]');
        expect(await page.locator('.channel.active').count()).toBe(2);
        const id = (await page.textContent('.channel.active a')) ?? '';
        inspected.mock.idleChannel(id);
        await page.waitForSelector(`.channel.idle:has-text("${id}")`);
        await page.click('a:has-text("active 1")');
        expect(await page.locator('.channel').count()).toBe(1);
      },
    ],
    [
      'has to sign in, when there is a token, and is out again after signing out',
      async () => {
        const { page, complaints } = await openTab();
        const guarded = await inspect({}, { ADMIN_TOKEN: TOKEN });
        try {
          await page.goto(`${guarded.url}/events`);
          await page.fill('#token', 'a-wrong-token-of-16');
          await page.click('button:text("Sign in")');
          expect(await page.textContent('main')).toContain('That is not the token');
          await page.fill('#token', TOKEN);
          await page.click('button:text("Sign in")');
          await page.waitForSelector('#live[data-state=on]');
          expect(await page.evaluate('document.cookie')).toBe('');
          expect(page.url()).not.toContain(TOKEN);
          await page.click('button:text("Sign out")');
          await page.goto(`${guarded.url}/events`);
          expect(page.url()).toContain('/sign-in');
          // The browser itself reports the 401 of the wrong token.
          expect(complaints.filter((complaint) => !complaint.includes('401'))).toEqual([]);
        } finally {
          await guarded.dispose();
        }
      },
    ],
    [
      'learns why requests were refused and what waits, when looking at rejections and quarantine',
      async () => {
        const { page } = await openTab();
        await page.goto(`${inspected.url}/rejections`);
        expect(await page.textContent('main')).toMatch(/claims differ, first at\s*\/\w+/);
        expect(await page.textContent('main')).toContain('bad signature');
        await page.goto(`${inspected.url}/quarantine`);
        expect(await page.textContent('main')).toContain('npx hookkit webhooks import --id');
      },
    ],
  ];

  test.each(actions)('%s', (_what, act) => act());
});
