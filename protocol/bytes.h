/// Numbers as little-endian bytes, wherever they lie. Private to the codec and its tests.
#ifndef TARN_PROTOCOL_BYTES_H
#define TARN_PROTOCOL_BYTES_H

#include <stdint.h>

static inline uint16_t get_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t get_u32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t get_u64(const uint8_t *p)
{
    return get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

static inline float get_f32(const uint8_t *p)
{
    union {
        uint32_t bits;
        float value;
    } u = {.bits = get_u32(p)};
    return u.value;
}

static inline double get_f64(const uint8_t *p)
{
    union {
        uint64_t bits;
        double value;
    } u = {.bits = get_u64(p)};
    return u.value;
}

static inline void put_u16(uint8_t *p, uint16_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

static inline void put_u32(uint8_t *p, uint32_t value)
{
    put_u16(p, (uint16_t)value);
    put_u16(p + 2, (uint16_t)(value >> 16));
}

static inline void put_u64(uint8_t *p, uint64_t value)
{
    put_u32(p, (uint32_t)value);
    put_u32(p + 4, (uint32_t)(value >> 32));
}

static inline void put_f32(uint8_t *p, float value)
{
    union {
        float value;
        uint32_t bits;
    } u = {.value = value};
    put_u32(p, u.bits);
}

static inline void put_f64(uint8_t *p, double value)
{
    union {
        double value;
        uint64_t bits;
    } u = {.value = value};
    put_u64(p, u.bits);
}

#endif
