import type { NamedFault } from './named-faults.js'

/** A measured client of another service. */
export interface MeasuredPeer {
  readonly name: string
  readonly version: string
}

/**
 * Clients that were measured under the same faults, each the newest for JavaScript at the time, on the loopback: 8 s of
 * audio in 400 chunks of 20 ms, with the fault at chunk 100. For drops and outages: the number of chunks that were never
 * delivered, and `+n` for chunks that the lost session had received, which were neither finalized nor sent again.
 */
export const measuredPeers: readonly MeasuredPeer[] = [
  { name: 'Deepgram', version: '5.13' },
  { name: 'AssemblyAI', version: '4.41' },
  { name: 'Speechmatics', version: '8.5' },
  { name: 'Soniox', version: '2.3' },
  { name: 'Gladia', version: '2.1' },
  { name: 'Microsoft', version: '1.52' },
]

/** The results for each fault in the order of `measuredPeers`; `–` where it was not measured or does not apply. */
export const peerMeasurements: Readonly<Record<NamedFault, readonly string[]>> = {
  drop: ['0 +25', '300 +25', '300 +25', '0 +25', '0', '0'],
  'outage-1.5s': ['0–224 +25', '300', '300', '50 +25', '0', '300'],
  'outage-8s': ['300', '300', '300', '300', '300', '300'],
  'outage-30s': ['–', '–', '–', '–', '–', '–'],
  'fresh-token': ['no', '–', '–', 'yes', '–', 'yes'],
  'finalize-unanswered': ['cannot wait', '"success" 5 s', 'rejects 10 s', 'for ever', 'for ever', '"stopped" 0 s'],
  'malformed-message': ['untyped', 'process dies', 'process dies', 'ends untyped', 'process dies', '–'],
  'half-open': ['unnoticed', 'unnoticed', 'unnoticed', 'unnoticed', 'unnoticed', '–'],
  'stopped-reading': ['+47 MB', '+57 MB', '+49 MB', '+49 MB', '–', '–'],
  'refused-token': ['–', '–', '–', '–', '–', '–'],
  'token-expiry': ['–', '–', '–', '–', '–', '–'],
}
