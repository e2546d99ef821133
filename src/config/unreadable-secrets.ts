import { Fault } from '../domain/fault.js';
import type { Config } from './config.js';
import type { Secret } from './secrets.js';

/**
 * Complaints about secrets that cannot be read here and now. A file may be valid on a machine that does not
 * hold its secrets, so these are warnings; commands are not run.
 */
export async function unreadableSecrets(config: Config): Promise<readonly string[]> {
  const complaints: string[] = [];
  for (const secret of secretsOf(config)) {
    try {
      await secret.check();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      complaints.push(error.message);
    }
  }
  return complaints;
}

function secretsOf(config: Config): readonly Secret[] {
  return [
    ...config.sources.map(({ access }) => (access.kind === 'token' ? access.token : access.clientSecret)),
    ...(config.receiver?.secrets ?? []),
    ...config.notices.flatMap((notice) => {
      if (notice.kind === 'command') return [];
      return notice.kind === 'slack' ? [notice.webhookUrl] : [notice.secret];
    }),
  ];
}
