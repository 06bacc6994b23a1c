import { afterEach, expect, test } from '@jest/globals';
import { bodyOf, deliver } from '../support/notifications.ts';
import { type RunningService, runService } from '../support/running-service.ts';
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts';

let service: RunningService | undefined;
let disk: SmallDisk | undefined;

afterEach(async () => {
  await service?.dispose();
  service = undefined;
  disk?.remove();
  disk = undefined;
});

async function readiness(url: string): Promise<number> {
  return (await fetch(`${url}/readyz`)).status;
}

test('a service that was ready says 503 on a full disk, and 200 once there is room, without a notification in between', async () => {
  disk = mountSmallDisk('size=8m');
  if (!disk) return;
  service = await runService({}, { DATABASE_URL: `sqlite:${disk.path}/receiver.db` });
  const { url } = service;
  expect([await readiness(url), await readiness(url)]).toEqual([200, 200]);
  for (let round = 0; round < 2; round++) {
    disk.fill();
    expect([await readiness(url), await readiness(url)]).toEqual([503, 503]);
    disk.clear();
    expect([await readiness(url), await readiness(url)]).toEqual([200, 200]);
  }
  expect((await deliver(url, bodyOf(1))).status).toBe(200);
});
