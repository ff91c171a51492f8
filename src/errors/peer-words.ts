/** The most of a peer's own words that a message repeats, in characters. */
const longest = 300

/** What a peer said, fit to stand in a message for a person: one line, and not longer than a person reads. */
export const peerWords = (text: string): string =>
  text
    .slice(0, longest)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
