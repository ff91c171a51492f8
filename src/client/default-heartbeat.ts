/**
 * How often a session asks whether its peer is there unless `heartbeatMs` or `keepaliveMs` say otherwise, in
 * milliseconds; one that is not is noticed before the second time is over, that is within 10 s.
 */
export const defaultHeartbeatMs = 4_500
