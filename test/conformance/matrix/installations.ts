import { expect } from 'vitest';
import { type Cast, type CastName, callers, type Expected, makeCast, outside } from './cast.js';
import { defineTable, type MatrixRow } from './table.js';

/** Only a person can install; every other credential is refused. */
const noPerson = {
  install: '403 forbidden',
  installIdentity: '403 forbidden',
  installOther: '403 forbidden',
  installSyndicate: '403 forbidden',
  syndicateKey: '403 forbidden',
} as const;

const anyPerson: Expected = {
  ...outside,
  ...noPerson,
  owner: 200,
  developer: 200,
  founder: 200,
  founderOtherRealm: 200,
  otherFounder: 200,
  investor: 200,
};
const nobody: Expected = {
  ...outside,
  ...noPerson,
  owner: '404 not_found',
  developer: '404 not_found',
  founder: '404 not_found',
  founderOtherRealm: '404 not_found',
  otherFounder: '404 not_found',
  investor: '404 not_found',
};
/**
 * The application's own people see all of its installs; on the target's side, the editors of the company do.
 */
const bothSides = (status: number): Expected => ({
  ...nobody,
  owner: status,
  developer: status,
  founder: status,
});
const path = ({ here }: Cast, more = ''): { path: string } => ({
  path: `/installations/${here.installationId}${more}`,
});

const rows: readonly MatrixRow<CastName, Cast>[] = [
  {
    operation: 'listInstallations',
    expected: anyPerson,
    request: () => ({ path: '/installations' }),
    sees: ({ data }, caller, { here, elsewhere, syndicate }) => {
      const all = [here, elsewhere, syndicate].map(({ installationId }) => installationId);
      const seen: Partial<Record<CastName, string[]>> = {
        owner: all,
        developer: all,
        // The founder created all three installs here.
        founder: all,
        otherFounder: [elsewhere.installationId],
      };
      expect(data.map(({ id }: { id: string }) => id).sort()).toEqual([...(seen[caller] ?? [])].sort());
    },
  },
  {
    operation: 'listEligibleInstallations',
    expected: anyPerson,
    request: () => ({ path: '/installations/eligible' }),
    sees: ({ data }, caller, { here, elsewhere, vacant }) => {
      const seen: Partial<Record<CastName, string[]>> = {
        founder: [here.id, vacant.id],
        otherFounder: [elsewhere.id],
      };
      expect(data.map(({ id }: { id: string }) => id).sort()).toEqual([...(seen[caller] ?? [])].sort());
    },
  },
  {
    operation: 'createInstallation',
    about: 'on a target without an install',
    expected: { ...nobody, founder: 201 },
    request: ({ vacant }) => ({
      path: '/installations',
      body: { target_type: 'company', target_id: vacant.id },
    }),
  },
  {
    operation: 'createInstallation',
    about: 'on an installed target',
    expected: { ...nobody, founder: '409 already_installed' },
    request: ({ here }) => ({ path: '/installations', body: { target_type: 'company', target_id: here.id } }),
  },
  { operation: 'getInstallation', expected: bothSides(200), request: (cast) => path(cast) },
  {
    operation: 'revokeInstallation',
    expected: { ...bothSides(200), developer: '403 forbidden' },
    request: (cast) => path(cast),
  },
  { operation: 'mintInstallationToken', expected: bothSides(201), request: (cast) => path(cast, '/tokens') },
];

export const installationsTable = defineTable<CastName, Cast>({
  name: 'installations',
  callers,
  stage: (world) => makeCast(world, 'test'),
  credential: (cast, caller, operation) => cast.token(caller, operation),
  rows,
});
