//! What the processor at hand can do.

/// Whether it has 256-bit fused products: asked at run time, so that one program serves all and the same machine gives the same bits.
#[inline]
pub fn fused() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}
