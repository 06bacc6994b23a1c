import { expect, test } from '@jest/globals';
import { runCli } from '../support/run-cli.ts';

const PASSWORD = 'hunter2hunter2';

test.each(
  ['serve', 'doctor --offline', 'handlers check'].flatMap((command) =>
    ['PROVIDER_BASE_URL', 'STATUSES_BASE_URL'].map((name) => ({ command, name })),
  ),
)(
  '$command refuses a $name with a password as a mistake of the settings, and does not show it',
  async ({ command, name }) => {
    const env = { STATUSES_TOKEN: 'alice-rw', STATUSES_BASE_URL: 'https://social.test' };
    const { code, stdout, stderr } = await runCli(command.split(' '), {
      env: { ...env, [name]: `https://me:${PASSWORD}@127.0.0.1/` },
    });
    expect(code).toBe(command.startsWith('doctor') ? 1 : 2); // for the doctor it is one finding of several
    expect(stdout + stderr).toContain(
      `${name}: the given value (not shown) is not valid; it takes an http or https URL without a user name`,
    );
    expect(stdout + stderr).not.toContain(PASSWORD);
  },
);
