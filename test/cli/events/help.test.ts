import { expect, test } from '@jest/globals';
import { runCli } from '../../support/run-cli.ts';

test.each(['list', 'show', 'export', 'replay', 'send', 'prune', 'compare'])(
  'tells its options and examples that begin like it, when events %s is asked for help',
  async (command) => {
    const { code, stdout, stderr } = await runCli(['events', command, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      new RegExp(`Examples:\\n  npx hookkit events ${command === 'compare' ? 'replay' : command}`),
    );
    if (command !== 'export') expect(stdout).toContain('--json');
  },
);

test('tells its commands, when events is asked for help', async () => {
  const { stdout } = await runCli(['events', '--help']);
  for (const command of ['list', 'show', 'export', 'replay', 'send', 'prune', 'compare'])
    expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
});
