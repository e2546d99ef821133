import { afterAll } from 'vitest';
import { Visitor } from './credentials.js';
import { type Answered, startPlatform } from './running-platform.js';
import type { TestSyndicate } from './syndicate-life.js';

export const hour = 3_600_000;
export const refusal = (answer: Answered) => [answer.status, answer.body.error.type];
export const pathOf = (answer: Answered): string => new URL(answer.body.data.attributes.url).pathname;

/** Starts a platform for the tests of a file, which invite guests by join sessions. */
export async function joinRequests() {
  const world = await startPlatform({ limits: false });
  afterAll(() => world.close());
  let number = 0;
  const address = () => {
    number += 1;
    return `guest${number}@people.example`;
  };
  return {
    world,
    now: () => new Date(world.services.clock.now()).toISOString(),
    address,
    mint: (
      syndicate: TestSyndicate,
      wish: Readonly<Record<string, unknown>> = {},
      token = syndicate.installationToken,
    ) =>
      world.post(`${syndicate.path}/join_sessions`, {
        token,
        body: { join_session: { email: address(), ...wish } },
      }),
    sessions: (syndicate: TestSyndicate, query = '', token = syndicate.installationToken) =>
      world.get(`${syndicate.path}/join_sessions${query}`, { token }),
    /** Opens the link as a person and submits its form. */
    visit: async (path: string, email: string, action: string): Promise<Answered> => {
      const visitor = new Visitor(world);
      await visitor.signIn(path, email);
      return visitor.answer(path, { action });
    },
    memberOf: async (syndicate: TestSyndicate, id: string) => {
      const { body } = await world.get(`${syndicate.path}/members?per_page=100`, {
        token: syndicate.creatorToken,
      });
      return body.data.find((row: { id: string }) => row.id === id)?.attributes;
    },
  };
}
