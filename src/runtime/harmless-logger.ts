import type { LogFields, Logger } from './logger.js';

/** Returns the logger of a host program. What it throws or rejects is dropped: a log line must not stop the work it reports. */
export function harmlessLogger(logger: Logger): Logger {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: LogFields, message: string) => {
    const write = async () => await logger[level](fields, message);
    write().catch(() => {});
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => {
      try {
        return harmlessLogger(logger.child(fields));
      } catch {
        return harmlessLogger(logger);
      }
    },
  };
}
