import { afterAll } from 'vitest';
import { type Answered, startPlatform } from './running-platform.js';
import { foundSyndicate, type TestMember, type TestSyndicate } from './syndicate-life.js';

export const ids = (answer: Answered): string[] => answer.body.data.map((row: { id: string }) => row.id);
export const refusal = (answer: Answered) => [answer.status, answer.body.error.type];

/** Starts a platform for the tests of a file, with a syndicate whose members they list and change. */
export async function memberRequests() {
  const world = await startPlatform({ limits: false });
  afterAll(() => world.close());
  return {
    world,
    own: foundSyndicate(world),
    act: (syndicate: TestSyndicate, member: { id: string }, action: string, token = syndicate.creatorToken) =>
      world.post(`${syndicate.path}/members/${member.id}/${action}`, { token }),
    list: (syndicate: TestSyndicate, query = '', token = syndicate.creatorToken) =>
      world.get(`${syndicate.path}/members${query}`, { token }),
    setMember: (member: TestMember, columns: Readonly<Record<string, string | number | null>>) => {
      for (const [column, value] of Object.entries(columns)) {
        world.services.state
          .prepare(`UPDATE syndicate_members SET ${column} = ? WHERE no = ?`)
          .run(value, member.no);
      }
    },
  };
}
