/**
 * Which versions of Node rosterd runs on, as `engines` in package.json has it. The oldest is bounded by undici 8 and by
 * the Node-API of the SQLite driver. Imports nothing and uses old syntax alone: a Node that is too old loads this as well.
 */
export const oldestNode = '22.19.0';

/** The release lines that the whole suite runs on. */
export const testedNodeLines: readonly number[] = [22, 24, 26];

/** What to say on a version that is too old, and what to type; null on any other. */
export function nodeTooOld(version: string): { message: string; hint: string } | null {
  const [oldestMajor = 0, oldestMinor = 0] = numbers(oldestNode);
  const [major = 0, minor = 0] = numbers(version);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return null;
  return {
    message: `Node ${version} is too old for rosterd, which needs Node ${oldestNode} or later`,
    hint: 'nvm install 24',
  };
}

const numbers = (version: string) => version.split('.').map(Number);
