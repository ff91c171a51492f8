import type { Server } from '@grpc/grpc-js'
import { loadOptional } from '../../errors/load-optional.js'

/** The services that grpc.health.v1 answers for: the server as a whole, and ours. */
const healthServices = ['', 'dataflow'] as const

export interface GrpcHealth {
  readonly addTo: (server: Server) => void
  readonly setServing: (isServing: boolean) => void
}

/** `grpc.health.v1.Health`, NOT_SERVING until it is told otherwise. Rejects with `missing-dependency`. */
export const openGrpcHealth = async (): Promise<GrpcHealth> => {
  const { HealthImplementation } = await loadOptional(
    'grpc-health-check',
    'The health service',
    () => import('grpc-health-check'),
  )
  const health = new HealthImplementation(Object.fromEntries(healthServices.map((name) => [name, 'NOT_SERVING'])))
  return {
    addTo: (server) => {
      health.addToServer(server)
    },
    setServing: (isServing) => {
      for (const name of healthServices) health.setStatus(name, isServing ? 'SERVING' : 'NOT_SERVING')
    },
  }
}
