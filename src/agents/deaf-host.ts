/** How the process of a native child ends when its host did not let go of it in time: the host is to be ended whole. */
export const DEAF_HOST = 75;
