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

/// Whether it has 256-bit products and sums. Each is rounded as the plain one, so what is compiled for them gives the same bits everywhere.
#[inline]
pub fn wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Functions compiled twice, the second time for the 256-bit products and sums of [`wide`], which are taken where the processor has them: the same bits in
/// less time. Whatever they call must be inlined into them.
#[macro_export]
macro_rules! widened {
    ($($(#[$doc:meta])* $seen:vis fn $name:ident = $twin:ident / $body:ident $([$($g:tt)*])? ($($arg:ident: $kind:ty),*) $(-> $out:ty)?;)*) => {
        $(
            $(#[$doc])*
            #[inline]
            $seen fn $name$(<$($g)*>)?($($arg: $kind),*) $(-> $out)? {
                #[cfg(target_arch = "x86_64")]
                if $crate::processor::wide() {
                    // The function is the safe one, compiled for features that were just found.
                    #[allow(unsafe_code)]
                    return unsafe { $twin($($arg),*) };
                }
                $body($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn $twin$(<$($g)*>)?($($arg: $kind),*) $(-> $out)? {
                $body($($arg),*)
            }
        )*
    };
}
