import type { WebhookSecret } from '../stored.ts';
import type { MemoryDatabase } from './database.ts';
import { byText } from './rows.ts';

type Database = Pick<MemoryDatabase, 'rows'>;

const keyOf = (webhookId: string, secret: string) => JSON.stringify([webhookId, secret]);

export function addSecret({ rows }: Database, given: WebhookSecret): void {
  const key = keyOf(given.webhookId, given.secret);
  const { createdAt } = rows.secrets.get(key) ?? given;
  rows.secrets.set(key, { ...given, createdAt });
  rows.ownSecrets.set(given.webhookId, given.webhookId);
}

export function retireSecret(
  { rows }: Database,
  webhookId: string,
  secret: string,
  retireAt: number,
): boolean {
  const known = rows.secrets.get(keyOf(webhookId, secret));
  if (known) rows.secrets.set(keyOf(webhookId, secret), { ...known, retireAt });
  return known !== undefined;
}

export function secrets({ rows }: Database, now: number): WebhookSecret[] {
  return rows.secrets
    .all()
    .filter(({ retireAt }) => retireAt === undefined || retireAt > now)
    .sort((one, other) => one.createdAt - other.createdAt);
}

export function webhooksWithOwnSecret({ rows }: Database): string[] {
  return rows.ownSecrets.all().sort(byText);
}
