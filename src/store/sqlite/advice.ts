/** What to do about it, by what SQLite says. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /unable to open|readonly/,
    'its directory must be there, and this user must be allowed to write to it and to the file',
  ],
  [/locked/, 'another program holds it: let that finish, or end it'],
  [/full/, 'make room on its disk'],
  [/not a database|malformed|encrypted/, 'put a backup in its place, or another path into DATABASE_URL'],
];

/** A message of SQLite with what can be done about it, where that is known. */
export function advised(message: string): string {
  const advice = ADVICE.find(([said]) => said.test(message))?.[1];
  return advice === undefined ? message : `${message} (${advice})`;
}
