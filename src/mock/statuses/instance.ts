/** The release whose API the mock serves. Some clients ask for it before they use what was added in a release. */
const RELEASE = '3.3.0';

/** What `GET /api/v1/instance` tells of the server. */
export function instanceEntity(baseUrl: string) {
  return {
    uri: new URL(baseUrl).host,
    title: 'hookkit mock',
    short_description: 'A mock: nothing posted here is ever published.',
    description: '',
    email: '',
    version: RELEASE,
    urls: {},
    stats: { user_count: 2, status_count: 0, domain_count: 0 },
    thumbnail: null,
    languages: ['en'],
    registrations: false,
    approval_required: false,
    invites_enabled: false,
    contact_account: null,
    rules: [],
  };
}
