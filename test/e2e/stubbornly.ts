const DAEMON_DIED = /did not answer|ended while it was answering|not JSON|socket hang up|Nobody listens|ECONNRESET/;

/** A call whose daemon is killed meanwhile is repeated with the next one. It must be one that may be repeated. */
export async function stubbornly<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (tries === 10 || !DAEMON_DIED.test(String(error))) throw error;
    }
  }
}
