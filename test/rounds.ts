// Sizes of random and repeated tests: what a test asserts is the same in both, only the number of rounds differs.

/** The number of rounds in `npm test`, or the longer one in `npm run test:long`. */
export function roundsOf({ usual, long }: { readonly usual: number; readonly long: number }): number {
  return process.env.TEST_LONG === undefined ? usual : long
}
