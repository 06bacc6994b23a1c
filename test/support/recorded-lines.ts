import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toLine } from '../../src/replay/recording-lines.ts';
import { verified } from './verified-notification.ts';

export const mediaName = (number: number) => `media${String(number).padStart(3, '0')}`;

/** The line of a recording. Its event happened so many seconds after the start of 2026. */
export function recordedLine(number: number, receivedAt = number * 1000, media = number): string {
  const { body } = verified({
    media_id: mediaName(media),
    webhook_id: 'webhook1',
    at: Date.UTC(2026, 0, 1) + number * 1000,
  });
  return toLine({ body, receivedAt, webhookId: 'webhook1' });
}

/** Writes a recording of these lines into a directory; returns its path. */
export function writeRecording(directory: string, lines: readonly string[]): string {
  const path = join(directory, 'recording.ndjson');
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
  return path;
}
