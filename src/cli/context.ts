/** What a command leaves for the end of the process. */
export type Context = { exitCode: number; json: boolean };
