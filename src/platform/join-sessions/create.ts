import type { z } from 'zod';
import type { createJoinSessionBody } from '../contract/join-sessions.js';
import type { Caller } from '../http/caller.js';
import { Problem } from '../http/problem.js';
import { refuseStanding } from '../members/invite.js';
import { memberOfEmail } from '../members/model.js';
import type { Services } from '../services.js';
import type { State } from '../state/database.js';
import { newId } from '../state/secrets.js';
import { one, run } from '../state/statements.js';
import type { Access } from '../syndicates/access.js';
import { type JoinSession, joinSessionByNo, openSessionFor } from './model.js';
import { announceJoinSession, expireDue } from './transitions.js';

type Wish = z.output<typeof createJoinSessionBody>['join_session'];

/** Returns the caller's installation on the syndicate. Throws a 403 without one: sessions belong to an installation. */
export function installationFor(state: State, caller: Caller, { syndicate }: Access): number {
  const existing = one<{ no: number }>(
    state,
    'SELECT no FROM installations WHERE application_no = ? AND syndicate_no = ? AND revoked_at IS NULL',
    [caller.app.no, syndicate.no],
  );
  if (existing !== undefined) return existing.no;
  throw new Problem(403, 'forbidden', `The application has no active installation on ${syndicate.id}.`, {
    remediation: 'Install the application on the syndicate with POST /installations.',
  });
}

/** Creates a session, or returns the open session of this installation for the same email unchanged. */
export function createJoinSession(
  services: Services,
  access: Access,
  installationNo: number,
  wish: Wish,
  now: number,
): JoinSession {
  const { state, random } = services;
  return state.transaction(() => {
    expireDue(services, now);
    const open = openSessionFor(state, installationNo, wish.email);
    if (open !== undefined) return open;
    const existing = memberOfEmail(state, access.syndicate.no, wish.email);
    // Invitees and applicants may join through this link too; members and exiled people may not.
    if (existing?.standing === 'member' || existing?.standing === 'exiled') refuseStanding(existing);
    const { no } = run(
      state,
      `INSERT INTO join_sessions (id, token, syndicate_no, installation_no, email, name, success_url, metadata, status,
         created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)`,
      [
        newId(random, 'join_'),
        newId(random, 'jl_'),
        access.syndicate.no,
        installationNo,
        wish.email,
        wish.name ?? null,
        wish.success_url ?? null,
        wish.metadata === undefined ? null : JSON.stringify(wish.metadata),
        now,
        now + wish.expires_in_hours * 3_600_000,
      ],
    );
    const session = joinSessionByNo(state, no);
    announceJoinSession(services, session, now);
    return session;
  })();
}
