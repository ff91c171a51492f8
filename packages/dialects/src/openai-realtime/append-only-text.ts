/** The text of an item, of which a client gets each part once and nothing is taken back. */
export interface AppendOnlyText {
  /** What is definitive. */
  readonly text: string
  /** What the client has. */
  readonly sent: string
}

export const noText: AppendOnlyText = { text: '', sent: '' }

const joined = (text: string, more: string): string =>
  text === '' || more.trim() === '' ? text + more.trim() : `${text} ${more.trim()}`

/** What is sent is never taken back, so a text that begins differently has no further part. */
const upTo = (before: AppendOnlyText, text: string, candidate: string): readonly [AppendOnlyText, delta: string] => {
  const isMore = candidate.length > before.sent.length && candidate.startsWith(before.sent)
  return isMore ? [{ text, sent: candidate }, candidate.slice(before.sent.length)] : [{ ...before, text }, '']
}

/** Returns the text, and its new part: the definitive text, and what the service no longer changes of the rest. */
export const withStable = (before: AppendOnlyText, stable: string) =>
  upTo(before, before.text, joined(before.text, stable))

/** The same when a further segment has its definitive text. */
export const withSegment = (before: AppendOnlyText, segment: string) => {
  const text = joined(before.text, segment)
  return upTo(before, text, text)
}
