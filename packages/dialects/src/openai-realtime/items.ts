import type { JsonObject } from 'rxspeech/internal/protocol/json-object'

/** One piece of speech in the conversation. */
export interface Item {
  readonly id: string
  readonly previousId: string | null
  /** Undefined until it is complete. */
  readonly transcript?: string | undefined
}

/** How many items can be retrieved. */
const maxItems = 100

/** The items of a session in their order, of which the last ones are kept. */
export interface Items {
  readonly kept: readonly Item[]
  readonly lastId: string | null
}

export const noItems: Items = { kept: [], lastId: null }

export const withItem = ({ kept, lastId }: Items, id: string): Items => ({
  kept: [...kept.slice(1 - maxItems), { id, previousId: lastId }],
  lastId: id,
})

export const findItem = ({ kept }: Items, id: string): Item | undefined => kept.find((item) => item.id === id)

export const withTranscript = (items: Items, id: string, transcript: string): Items => ({
  ...items,
  kept: items.kept.map((item) => (item.id === id ? { ...item, transcript } : item)),
})

export const withoutItem = (items: Items, id: string): Items => ({
  ...items,
  kept: items.kept.filter((item) => item.id !== id),
})

/** An item as its client sees it. */
export const shownItem = ({ id, transcript }: Item): JsonObject => ({
  id,
  object: 'realtime.item',
  type: 'message',
  role: 'user',
  status: transcript === undefined ? 'in_progress' : 'completed',
  content: [{ type: 'input_audio', transcript: transcript ?? null }],
})
