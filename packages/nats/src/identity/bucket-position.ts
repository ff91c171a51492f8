import type { BucketState } from './bucket.js'

/**
 * How far a replica is in its bucket, by the revisions that were delivered.
 *
 * Servers that lost each other can deliver less than they have, number two changes alike, and even lose a change that
 * they confirmed, so a revision alone does not prove that nothing is missing: `BucketAudit` finds that.
 */
export class BucketPosition {
  #createdAt: string | undefined
  #revision = 0
  /** The revision that the bucket had at the last comparison, if it was not delivered by then. */
  #awaited: number | undefined
  /** The last revision that a complete reading did not deliver. */
  #undelivered: number | undefined

  /** The last revision that was delivered. */
  get revision(): number {
    return this.#revision
  }

  /**
   * All entries are read from now on. `replaced`: the bucket was created again. `rewound`: it was restored from an
   * older copy, or its leader has lost changes or its role. Both begin at revision 0 again.
   */
  begin({ createdAt, revision }: BucketState): 'continued' | 'rewound' | 'replaced' {
    const isReplaced = this.#createdAt !== undefined && this.#createdAt !== createdAt
    const isRewound = isReplaced || revision < this.#revision
    if (isRewound) this.#revision = 0
    this.#createdAt = createdAt
    this.#awaited = undefined
    if (isReplaced) return 'replaced'
    return isRewound ? 'rewound' : 'continued'
  }

  /** An entry was delivered. */
  advance(revision: number): void {
    this.#revision = Math.max(this.#revision, revision)
  }

  /**
   * Whether all entries were delivered, of a bucket that was in this state before. Without its last revision the server
   * may lag behind the leader; if a second reading does not have it either, that change was forgotten and has no entry.
   */
  isComplete({ revision }: BucketState): boolean {
    if (this.#revision >= revision) return true
    const isForgotten = this.#undelivered === revision
    this.#undelivered = revision
    if (isForgotten) this.#revision = revision
    return isForgotten
  }

  /**
   * Compares with the state of the bucket, which was asked for at the revision `asked`. `lost`: all entries have to be
   * read again, as the bucket is another one, or a change has not been delivered since the last comparison.
   */
  compare({ createdAt, revision }: BucketState, asked: number): 'current' | 'behind' | 'lost' {
    if (createdAt !== this.#createdAt || revision < asked) return 'lost'
    const isLate = this.#awaited !== undefined && this.#revision < this.#awaited
    this.#awaited = this.#revision < revision ? revision : undefined
    if (this.#awaited === undefined) return 'current'
    return isLate ? 'lost' : 'behind'
  }
}
