import type { SealedSecret, SecretTables } from '../../driver.ts';
import { KEY_CHECK } from '../../seal.ts';
import { SECRETS_ALONE } from '../locks.ts';
import { columns, decoded, fromText, type Session, toText } from '../session.ts';

export function secretTables(session: Session): SecretTables {
  const add = async (rows: readonly SealedSecret[]): Promise<void> => {
    await session.rows(
      `WITH own AS (
         INSERT INTO hookkit.own_secrets SELECT DISTINCT unnest($1::text[]) ON CONFLICT DO NOTHING)
       INSERT INTO hookkit.secrets (webhook_id, fingerprint, sealed, created_at, retire_at)
       SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[])`,
      columns(
        rows,
        ({ webhookId }) => toText(webhookId),
        ({ fingerprint }) => fingerprint,
        ({ sealed }) => sealed,
        ({ createdAt }) => createdAt,
        ({ retireAt }) => retireAt,
      ),
    );
  };
  return {
    async secrets() {
      const rows = await session.rows<SealedSecret>(
        `SELECT webhook_id AS "webhookId", fingerprint, sealed, created_at AS "createdAt", retire_at AS "retireAt"
         FROM hookkit.secrets ORDER BY created_at, webhook_id, fingerprint`,
      );
      return rows.map(decoded);
    },
    addSecret: (row) => add([row]),
    async replaceSecrets(rows) {
      await session.rows('DELETE FROM hookkit.secrets');
      await add(rows);
    },
    async ownSecrets() {
      const rows = await session.rows<{ webhook_id: string }>(
        'SELECT webhook_id FROM hookkit.own_secrets ORDER BY webhook_id',
      );
      return rows.map((row) => fromText(row.webhook_id));
    },
    // Each row has the number of the transaction that wrote it.
    async secretsStamp() {
      const [row] = await session.rows<{ stamp: string }>(
        `SELECT concat_ws(' ',
           (SELECT concat(count(*), ' ', sum(xmin::text::bigint)) FROM hookkit.secrets),
           (SELECT count(*) FROM hookkit.own_secrets),
           (SELECT xmin FROM hookkit.meta WHERE name = $1)) AS stamp`,
        [KEY_CHECK],
      );
      return row?.stamp ?? '';
    },
    async keyCheck() {
      // Every operation on secrets asks this first. The lock is a statement of its own: the next sees what was done before it.
      await session.rows(SECRETS_ALONE);
      const [row] = await session.rows<{ value: Buffer }>('SELECT value FROM hookkit.meta WHERE name = $1', [
        KEY_CHECK,
      ]);
      return row?.value;
    },
    async setKeyCheck(check) {
      await session.rows(
        'INSERT INTO hookkit.meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
        [KEY_CHECK, check],
      );
    },
  };
}
