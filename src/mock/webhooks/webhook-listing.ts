import type { Webhook } from './webhook-registry.ts';

/** The query of a list request, as it comes. */
export type ListQuery = Readonly<Record<string, unknown>>;

/** A page of webhooks. */
export interface WebhookPage {
  readonly page: number;
  readonly page_length: number;
  readonly total: number;
  readonly webhooks: readonly Webhook[];
}

const DEFAULT_LENGTH = 10;
const LONGEST = 100;

/** The sort keys. Times and ids compare as texts. */
const sortKeys: Readonly<Record<string, (webhook: Webhook) => string>> = {
  id: ({ id }) => id,
  created: ({ created }) => created,
  last_modified: ({ last_modified }) => last_modified,
  name: ({ metadata }) => metadata.name,
  description: ({ metadata }) => metadata.description,
  webhook_url: ({ metadata }) => metadata.webhook_url,
};

/** One page of `webhooks`, which come in order of creation. Invalid members of a query count as absent. */
export function listPage(webhooks: readonly Webhook[], query: ListQuery): WebhookPage {
  const page = wholeNumber(query.page) ?? 1;
  const page_length = Math.min(wholeNumber(query.page_length) ?? DEFAULT_LENGTH, LONGEST);
  const found = sorted(
    webhooks.filter((webhook) => isFound(webhook, text(query.q))),
    text(query.sort),
  );
  const start = (page - 1) * page_length;
  return { page, page_length, total: found.length, webhooks: found.slice(start, start + page_length) };
}

/** Each word of `q` must occur, in any case, in a readable field of a webhook; `field:word` in that field. */
function isFound(webhook: Webhook, q: string): boolean {
  const fields = readable(webhook);
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => {
      const [name = '', ...rest] = word.split(':');
      const values = rest.length > 0 ? fields[name] : undefined;
      return values
        ? values.some((value) => value.includes(rest.join(':')))
        : Object.values(fields).some((all) => all?.some((value) => value.includes(word)));
    });
}

function readable({ id, metadata }: Webhook): Partial<Record<string, string[]>> {
  const { name, description, webhook_url, events, site_ids } = metadata;
  const fields = {
    id: [id],
    name: [name],
    description: [description],
    webhook_url: [webhook_url],
    events,
    site_ids,
  };
  return Object.fromEntries(
    Object.entries(fields).map(([field, values]) => [field, values.map((value) => value.toLowerCase())]),
  );
}

/** Sorts by each field in turn; equal webhooks stay in the order of creation, reversed if the first field is. */
function sorted(webhooks: readonly Webhook[], sort: string): Webhook[] {
  const given = sort.split(',').flatMap((part) => {
    const [field = '', direction = ''] = part.trim().split(':');
    const key = Object.hasOwn(sortKeys, field) ? sortKeys[field] : undefined;
    return key ? [{ key, sign: direction === 'asc' ? 1 : -1 }] : [];
  });
  const orders = given.length > 0 ? given : [{ key: (webhook: Webhook) => webhook.created, sign: -1 }];
  const created = orders[0]?.sign === 1 ? webhooks : webhooks.toReversed();
  return created.toSorted((one, other) => {
    for (const { key, sign } of orders) {
      const order = sign * compare(key(one), key(other));
      if (order !== 0) return order;
    }
    return 0;
  });
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function wholeNumber(value: unknown): number | undefined {
  const number = /^\d+$/.test(text(value)) ? Number(text(value)) : 0;
  return number > 0 && Number.isSafeInteger(number) ? number : undefined;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}
