import { type Cast, type CastName, callers, type Expected, makeCast, outside } from './cast.js';
import { type Cell, defineTable, type MatrixRow } from './table.js';

const noRole = '403 forbidden_role' as const;

/** The portal requires no scope but a role in the organization, which only a person has. A key has no person at all. */
const members = (owner: Cell, developer: Cell): Expected => ({
  ...outside,
  owner,
  developer,
  founder: noRole,
  founderOtherRealm: noRole,
  otherFounder: noRole,
  investor: noRole,
  install: noRole,
  installIdentity: noRole,
  installOther: noRole,
  installSyndicate: noRole,
  syndicateKey: noRole,
});
const team = (cell: Cell): Expected => members(cell, cell);
const administrators = (cell: Cell): Expected => members(cell, noRole);

type Row = MatrixRow<CastName, Cast>;
const second =
  (more = '', body?: unknown): Row['request'] =>
  ({ secondApplication }) => ({ path: `/developer/applications/${secondApplication}${more}`, body });
const foreign =
  (more = '', body?: unknown): Row['request'] =>
  ({ foreignApplication }) => ({ path: `/developer/applications/${foreignApplication}${more}`, body });

/** The same request on the organization's own application and on another organization's. */
const both = (
  operation: string,
  own: Expected,
  none: Expected,
  more = '',
  body?: unknown,
): readonly Row[] => [
  { operation, about: 'own', expected: own, request: second(more, body) },
  { operation, about: "another organization's", expected: none, request: foreign(more, body) },
];
const missing = '404 not_found';

const rows: readonly Row[] = [
  {
    operation: 'listApplications',
    expected: team(200),
    request: () => ({ path: '/developer/applications' }),
  },
  {
    operation: 'createApplication',
    expected: team(201),
    request: () => ({ path: '/developer/applications', body: { name: 'Third' } }),
  },
  ...both('getApplication', team(200), team(missing)),
  ...both('changeApplication', team(200), team(missing), '', { name: 'Renamed' }),
  ...both('addApplicationScopes', team(200), team(missing), '/scopes', { scopes: ['read:companies'] }),
  ...both('removeApplicationScope', team(200), team(missing), '/scopes/write:comments'),
  ...both('requestApplicationReview', administrators(200), administrators(missing), '/review'),
  ...both('disableApplication', administrators(200), administrators(missing), '/disable'),
  ...both('deleteApplication', administrators(200), administrators(missing)),
];

export const applicationsTable = defineTable<CastName, Cast>({
  name: 'applications',
  callers,
  stage: (world) => makeCast(world, 'test'),
  credential: (cast, caller, operation) => cast.token(caller, operation),
  rows,
});
