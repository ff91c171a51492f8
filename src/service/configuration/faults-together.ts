import { isLoopback } from '../../protocol/loopback.js'
import type { ServiceConfiguration } from './service-configuration.js'

/** A fault that no key has alone, at the key that it is told of. */
export interface FaultTogether {
  readonly path: readonly string[]
  readonly sentence: string
}

/** What does not go together in a file whose keys are sound one by one. */
export const faultsTogether = ({ tls, nodes, ...values }: ServiceConfiguration): readonly FaultTogether[] => {
  const faults: FaultTogether[] = []
  if ((tls?.certificateFile === undefined) !== (tls?.keyFile === undefined)) {
    const given = tls?.certificateFile === undefined ? 'keyFile' : 'certificateFile'
    faults.push({ path: ['tls', given], sentence: 'certificateFile and keyFile belong together; give both' })
  }
  for (const key of ['http', 'grpc', 'operations'] as const) {
    const host = values[key]?.host
    if (host !== undefined && tls?.certificateFile === undefined && !isLoopback(host)) {
      faults.push({ path: [key], sentence: `listening on ${host} needs tls; plain text is for loopback only` })
    }
  }
  for (const [at, { file, package: name }] of (nodes ?? []).entries()) {
    if ((file === undefined) !== (name === undefined)) continue
    faults.push({ path: ['nodes', String(at)], sentence: 'is a file or a package; give one of the two' })
  }
  return faults
}
