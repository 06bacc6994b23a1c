import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { parseConfig } from '../../src/config.ts';
import { describeWith } from '../support/tools.ts';

const shipped = new URL('../../deploy/systemd/receiver.service', import.meta.url);
const unit = readFileSync(shipped, 'utf8');
const directory = mkdtempSync(join(tmpdir(), 'hookkit-unit-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** What systemd says of a unit. */
function analyze(text: string, ...args: readonly string[]): { said: string; code: number | null } {
  const file = join(directory, 'receiver.service');
  writeFileSync(file, text);
  const { stdout, stderr, status } = spawnSync('systemd-analyze', [...args, file], { encoding: 'utf8' });
  return { said: stdout + stderr, code: status };
}

describeWith('systemd-analyze', 'the unit in deploy/systemd/', () => {
  test('is whole, when systemd verifies it', () => {
    // Where Node.js lies is another matter on every machine.
    const here = unit.replace('ExecStart=/usr/bin/node ', `ExecStart=${process.execPath} `);
    expect(here).not.toBe(unit);
    expect(analyze(here, 'verify', '--man=no')).toEqual({ said: '', code: 0 });
    expect(analyze(here.replace('ProtectSystem=strict', 'ProtectSystem=strikt'), 'verify').said).not.toBe('');
  });

  test('lets the service do little, when systemd rates it: 2.0 of 10 at most', () => {
    const { said } = analyze(unit, 'security', '--offline=true');
    const [, rating] = /Overall exposure level for receiver\.service: ([\d.]+)/.exec(said) ?? [];
    expect(Number(rating)).toBeLessThanOrEqual(2);
    expect(Number(rating)).toBeGreaterThan(0);
  });

  test('lets Node run, when V8 makes machine code and the reading thread gives way', () => {
    expect(unit).toMatch(/^MemoryDenyWriteExecute=false$/m);
    const filter = [...unit.matchAll(/^SystemCallFilter=(.*)$/gm)].map(([, value]) => value);
    expect(filter).toEqual(['@system-service', '~@privileged']);
  });
});

test('the unit is started at boot and gives the service the time that it needs to stop', () => {
  expect(unit).toMatch(/^\[Install\]\nWantedBy=multi-user\.target$/m);
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);
  const { DRAIN_MS, SHUTDOWN_GRACE_MS } = parseConfig({});
  const closing = 2000;
  expect(seconds * 1000).toBeGreaterThan(DRAIN_MS + SHUTDOWN_GRACE_MS + closing);
  const compose = readFileSync(new URL('../../deploy/compose/compose.yaml', import.meta.url), 'utf8');
  expect(compose).toContain(`stop_grace_period: ${seconds}s`);
});
