import { argv } from 'node:process';
import { systemClock } from '../../src/base/clock.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { verified } from './verified-notification.ts';

/** `record-one.ts PATH MEDIA`: opens a store, records one notification, and closes it. */
const [, , path = '', media = ''] = argv;
const store = await SqliteStore.open({ path, clock: systemClock, threads: false });
await store.record(verified({ media_id: media }));
await store.close();
