import type { SealedSecret, SecretTables } from '../driver.ts';
import { KEY_CHECK } from '../seal.ts';
import { byText, type Rows } from './rows.ts';

/** The tables of secrets in memory. */
export function secretTables(rows: Rows): SecretTables {
  const add = (row: SealedSecret): void => {
    rows.secretChanges++;
    rows.secrets.set(`${row.webhookId} ${Buffer.from(row.fingerprint).toString('hex')}`, row);
    rows.ownSecrets.set(row.webhookId, row.webhookId);
  };
  return {
    secrets: () => rows.secrets.all().sort((one, other) => one.createdAt - other.createdAt),
    addSecret: add,
    replaceSecrets(secrets) {
      rows.secretChanges++;
      rows.secrets.clear();
      secrets.forEach(add);
    },
    ownSecrets: () => rows.ownSecrets.all().sort(byText),
    secretsStamp: () => String(rows.secretChanges),
    keyCheck: () => rows.meta.get(KEY_CHECK),
    setKeyCheck(check) {
      rows.secretChanges++;
      rows.meta.set(KEY_CHECK, check);
    },
  };
}
