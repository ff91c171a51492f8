import { concatWith, defer, ignoreElements, takeWhile, tap, type Observable } from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Bucket, BucketEntry, BucketEvent } from './bucket.js'
import type { IdentityReplica } from './identity-replica.js'

/** Minimum interval of audits, and the additional time per entry. */
const auditEveryMs = 10_000
const auditMsPerEntry = 2
/** How many entries one audit writes again. */
const maxRestored = 1_000

export interface BucketAuditOptions {
  readonly bucket: Bucket
  readonly replica: IdentityReplica
  /** All entries beside the watch, perhaps from another server; then `read`. */
  readonly entries$: Observable<BucketEvent>
  readonly take: (entry: BucketEntry) => void
  readonly onFault: (error: unknown) => void
}

/**
 * Compares all entries of the bucket with the replica, because servers can lose a change that they confirmed. What
 * takes rights away is written again if the bucket lacks it; clients that it lacks are reported.
 */
export class BucketAudit {
  readonly #options: BucketAuditOptions
  /** Clients that the last audit did not find in the bucket, and how many of them were reported. */
  #absent: ReadonlySet<string> = new Set()
  #reported = 0

  constructor(options: BucketAuditOptions) {
    this.#options = options
  }

  /** How long after the last audit the next one begins. */
  get delayMs(): number {
    return Math.max(auditEveryMs, auditMsPerEntry * this.#options.replica.size)
  }

  /** One audit. Fails when the entries cannot be read, or one cannot be written. */
  readonly run$: Observable<never> = defer(() => {
    const entries = new Map<string, BucketEntry>()
    return this.#options.entries$.pipe(
      takeWhile((event) => event !== 'read'),
      tap((entry) => {
        entries.set(entry.key, entry)
        this.#options.take(entry)
      }),
      concatWith(defer(() => this.#restore(entries))),
      ignoreElements(),
      tap({ complete: () => this.#reportAbsent(entries) }),
    )
  })

  /** Gives up at the first entry whose writing is not confirmed. */
  async #restore(entries: ReadonlyMap<string, BucketEntry>): Promise<void> {
    const { bucket, replica, onFault } = this.#options
    let count = 0
    try {
      for (const { key, value, revision } of replica.lostIn(entries).slice(0, maxRestored)) {
        const written = await bucket.write(key, value, revision)
        // Otherwise only the server of this reading lacks it.
        if (written !== 'conflict') count += 1
      }
    } finally {
      if (count > 0) onFault(restored(bucket.name, count))
    }
  }

  /** Reports clients that two audits did not find, as the server of one may lag. */
  #reportAbsent(entries: ReadonlyMap<string, BucketEntry>): void {
    const { bucket, replica, onFault } = this.#options
    const absent = replica.clientsNotIn(entries)
    const count = absent.filter((key) => this.#absent.has(key)).length
    if (count > this.#reported) onFault(incomplete(bucket.name, count))
    this.#absent = new Set(absent)
    this.#reported = count
  }
}

const restored = (name: string, count: number): SpeechError =>
  new SpeechError(
    'internal',
    `The bucket ${name} lacked ${count} revocations or cancellations that are known here; they were written again.`,
  )

const incomplete = (name: string, count: number): SpeechError =>
  new SpeechError(
    'internal',
    `The bucket ${name} lacks ${count} clients that are known here; restore it, for instance with rxspeech identity migrate.`,
  )
