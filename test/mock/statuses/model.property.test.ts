import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runs } from '../../support/sizes.ts';
import { type Api, DAY, type Json, LIST, MINUTE, NOW, STATUSES, startApi } from './support.ts';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

/** The specification as a model: who has scheduled what for when, and what is out. */
interface Model {
  readonly records: Map<number, { user: string; at: number; text: string }>;
  readonly published: string[];
  lastId: number;
}
type User = 'alice' | 'bob';

const PAST = 'Validation failed: Scheduled at The scheduled date must be in the future';
const DAILY = 'You have exceeded the limit of 25 scheduled posts for today';
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
const NOT_FOUND = { status: 404, body: { error: 'Record not found' } };

/** What the model says of a time; undefined if nothing. */
function refusal(model: Model, user: User, time: number) {
  const sameDay = [...model.records.values()].filter(
    (record) => record.user === user && dayOf(record.at) === dayOf(time),
  );
  const soon = time <= api.clock.now() + 5 * MINUTE;
  if (!soon && sameDay.length < 25) return undefined;
  const error = [...(soon ? [PAST] : ['Validation failed:']), ...(sameDay.length < 25 ? [] : [DAILY])];
  return { status: 422, body: { error: error.join(soon ? ', ' : ' ') } };
}

class Schedule implements fc.AsyncCommand<Model, Api> {
  readonly #user: User;
  readonly #ms: number;
  readonly #text: string;
  constructor(user: User, ms: number, text: string) {
    [this.#user, this.#ms, this.#text] = [user, ms, text];
  }
  check = () => true;
  async run(model: Model, real: Api) {
    const at = real.clock.now() + this.#ms;
    const json = { status: this.#text, scheduled_at: new Date(at).toISOString() };
    const answer = await real.request('POST', STATUSES, { json, token: `${this.#user}-rw` });
    const refused = refusal(model, this.#user, at);
    if (refused) return expect(answer).toMatchObject(refused);
    model.records.set(++model.lastId, { user: this.#user, at, text: this.#text });
    expect(answer).toMatchObject({
      status: 200,
      body: { id: String(model.lastId), scheduled_at: json.scheduled_at },
    });
  }
  toString = () => `${this.#user} schedules ${JSON.stringify(this.#text)} in ${this.#ms} ms`;
}

class Change implements fc.AsyncCommand<Model, Api> {
  readonly #user: User;
  readonly #id: number;
  readonly #ms: number;
  readonly #method: string;
  constructor(user: User, id: number, ms: number, method: string) {
    [this.#user, this.#id, this.#ms, this.#method] = [user, id, ms, method];
  }
  check = () => true;
  async run(model: Model, real: Api) {
    const at = real.clock.now() + this.#ms;
    const json = { scheduled_at: new Date(at).toISOString() };
    const answer = await real.request(this.#method, `${LIST}/${this.#id}`, {
      json,
      token: `${this.#user}-rw`,
    });
    const record = model.records.get(this.#id);
    if (record?.user !== this.#user) return expect(answer).toMatchObject(NOT_FOUND);
    const refused = refusal(model, this.#user, at);
    if (refused) return expect(answer).toMatchObject(refused);
    record.at = at;
    expect(answer).toMatchObject({ status: 200, body: { ...json, params: { text: record.text } } });
  }
  toString = () => `${this.#user} changes ${this.#id} to ${this.#ms} ms ahead`;
}

class Cancel implements fc.AsyncCommand<Model, Api> {
  readonly #user: User;
  readonly #id: number;
  constructor(user: User, id: number) {
    [this.#user, this.#id] = [user, id];
  }
  check = () => true;
  async run(model: Model, real: Api) {
    const answer = await real.request('DELETE', `${LIST}/${this.#id}`, { token: `${this.#user}-rw` });
    if (model.records.get(this.#id)?.user !== this.#user) return expect(answer).toMatchObject(NOT_FOUND);
    model.records.delete(this.#id);
    expect(answer).toMatchObject({ status: 200, body: {} });
  }
  toString = () => `${this.#user} cancels ${this.#id}`;
}

class Wait implements fc.AsyncCommand<Model, Api> {
  readonly #ms: number;
  constructor(ms: number) {
    this.#ms = ms;
  }
  check = () => true;
  async run(model: Model, real: Api) {
    await real.clock.advance(this.#ms);
    const due = [...model.records].filter(([, { at }]) => at <= real.clock.now());
    for (const [id, { text, user }] of due.sort(([a, left], [b, right]) => left.at - right.at || a - b)) {
      model.records.delete(id);
      model.published.push(`${user}: ${text}`);
    }
    for (const [id, { user }] of due) {
      expect(await real.get(`${LIST}/${id}`, { token: `${user}-rw` })).toMatchObject(NOT_FOUND);
    }
  }
  toString = () => `waits ${this.#ms} ms`;
}

class Look implements fc.AsyncCommand<Model, Api> {
  check = () => true;
  async run(model: Model, real: Api) {
    for (const user of ['alice', 'bob']) {
      const { body } = await real.get(`${LIST}?limit=40`, { token: `${user}-rw` });
      const seen = body.map((one: Json) => [Number(one.id), one.scheduled_at, one.params.text]);
      const mine = [...model.records].filter(([, record]) => record.user === user);
      const expected = mine.map(([id, { at, text }]) => [id, new Date(at).toISOString(), text]);
      expect(seen).toEqual(expected.sort(([a], [b]) => Number(b) - Number(a)).slice(0, 40));
    }
  }
  toString = () => 'looks';
}

async function published(real: Api): Promise<string[]> {
  await real.nextWindow();
  const found: Json[] = [];
  for (const account of [1, 2]) {
    found.push(...(await real.get(`/api/v1/accounts/${account}/statuses?limit=40`)).body);
  }
  const inOrder = found.sort((left, right) => Number(left.id) - Number(right.id));
  return inOrder.map(({ account, content }) => `${account.username}: ${content.replace(/<.?p>/g, '')}`);
}

test('does what the model says, whatever is done in whatever order, and publishes all that is due', async () => {
  const user = fc.constantFrom<User>('alice', 'alice', 'alice', 'bob');
  const id = fc.integer({ min: 1, max: 30 });
  const ahead = fc.oneof(
    fc.integer({ min: -DAY, max: 3 * DAY }),
    fc.constantFrom(5 * MINUTE - 1, 5 * MINUTE, 5 * MINUTE + 1, 0, DAY),
  );
  const text = fc.stringMatching(/^[a-z]{1,8}$/);
  const commands = [
    fc.tuple(user, ahead, text).map((args) => new Schedule(...args)),
    fc.tuple(user, ahead, text).map((args) => new Schedule(...args)),
    fc.tuple(user, id, ahead, fc.constantFrom('PUT', 'PATCH')).map((args) => new Change(...args)),
    fc.tuple(user, id).map((args) => new Cancel(...args)),
    fc.integer({ min: 0, max: DAY }).map((ms) => new Wait(ms)),
    fc.constant(new Look()),
  ];
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: 'max' }), async (sequence) => {
      api.reset();
      const model: Model = { records: new Map(), published: [], lastId: 0 };
      await fc.asyncModelRun(() => ({ model, real: api }), sequence);
      expect(api.clock.now()).toBeGreaterThanOrEqual(NOW);
      const seen = await published(api);
      await new Wait(0).run(model, api); // what fell due while the next window was waited for
      expect(seen).toEqual(model.published);
    }),
    { numRuns: runs(60), interruptAfterTimeLimit: 60_000 },
  );
});
